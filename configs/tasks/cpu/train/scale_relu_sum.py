# SPDX-License-Identifier: Apache-2.0
# Row sums of scaled, rectified values.
import torch
import torch.nn as nn

R, C = 2048, 512


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w = nn.Parameter(torch.rand(c) + 0.5)

    def forward(self, x):
        x = x * self.w
        x = torch.relu(x)
        x = x.sum(-1)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return [C]
