# SPDX-License-Identifier: Apache-2.0
# Bias, GELU, gate: an elementwise chain of two inputs.
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
R, C = 2048, 4096


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.b = nn.Parameter(torch.rand(c) - 0.5)

    def forward(self, x, g):
        x = x + self.b
        x = F.gelu(x)
        x = x * g
        return x


def get_inputs():
    return [torch.randn(R, C), torch.randn(R, C)]


def get_ragged_inputs():
    return [torch.randn(557, C), torch.randn(557, C)]


def get_init_inputs():
    return [C]
