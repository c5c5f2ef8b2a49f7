# SPDX-License-Identifier: Apache-2.0
# An affine pair around tanh.
import torch
import torch.nn as nn

R, C = 512, 1024


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w = nn.Parameter(torch.rand(c) + 0.5)
        self.b = nn.Parameter(torch.rand(c) - 0.5)

    def forward(self, x):
        x = x * self.w
        x = torch.tanh(x)
        x = x + self.b
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return [C]
