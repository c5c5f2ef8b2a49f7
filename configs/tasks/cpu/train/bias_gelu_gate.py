# SPDX-License-Identifier: Apache-2.0
# A bias, the tanh form of GELU, and a gate.
import torch
import torch.nn as nn
import torch.nn.functional as F

R, C = 512, 768


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.b = nn.Parameter(torch.rand(c) - 0.5)

    def forward(self, x, z):
        x = x + self.b
        x = F.gelu(x, approximate="tanh")
        x = x * z
        return x


def get_inputs():
    return [torch.randn(R, C), torch.randn(R, C)]


def get_init_inputs():
    return [C]
