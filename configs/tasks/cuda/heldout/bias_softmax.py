# SPDX-License-Identifier: Apache-2.0
# Softmax of rows with a bias.
import torch
import torch.nn as nn

DEVICE = "cuda"
R, C = 3072, 3584


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.b = nn.Parameter(torch.rand(c) - 0.5)

    def forward(self, x):
        x = x + self.b
        x = torch.softmax(x, -1)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return [C]
