# SPDX-License-Identifier: Apache-2.0
# Softmax of scaled rows.
import torch
import torch.nn as nn

DEVICE = "cuda"
R, C = 4096, 2048


class Model(nn.Module):
    def forward(self, x):
        x = x * 0.125
        x = torch.softmax(x, -1)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_ragged_inputs():
    return [torch.randn(1021, C)]


def get_init_inputs():
    return []
