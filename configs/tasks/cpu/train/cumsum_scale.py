# SPDX-License-Identifier: Apache-2.0
# Running sums along rows, scaled.
import torch
import torch.nn as nn

R, C = 512, 1024


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w = nn.Parameter(torch.rand(c) + 0.5)

    def forward(self, x):
        x = torch.cumsum(x, -1)
        x = x * self.w
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return [C]
