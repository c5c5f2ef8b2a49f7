# SPDX-License-Identifier: Apache-2.0
# An affine pair around SiLU.
import torch
import torch.nn as nn
import torch.nn.functional as F

R, C = 1536, 640


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w = nn.Parameter(torch.rand(c) + 0.5)
        self.b = nn.Parameter(torch.rand(c) - 0.5)

    def forward(self, x):
        x = x * self.w
        x = F.silu(x)
        x = x + self.b
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return [C]
