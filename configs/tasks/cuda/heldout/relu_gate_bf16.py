# SPDX-License-Identifier: Apache-2.0
# ReLU and gate in bfloat16.
import torch
import torch.nn as nn

DEVICE = "cuda"
R, C = 6144, 5120


class Model(nn.Module):
    def forward(self, x, g):
        x = torch.relu(x)
        x = x * g
        return x


def get_inputs():
    return [torch.randn(R, C).bfloat16(), torch.randn(R, C).bfloat16()]


def get_init_inputs():
    return []
