# SPDX-License-Identifier: Apache-2.0
# Tanh, then running sums along rows.
import torch
import torch.nn as nn

DEVICE = "cuda"
R, C = 3584, 2560


class Model(nn.Module):
    def forward(self, x):
        x = torch.tanh(x)
        x = torch.cumsum(x, -1)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return []
