# SPDX-License-Identifier: Apache-2.0
# Running sums along rows, then a scale for each column.
import torch
import torch.nn as nn

ROWS = 448
COLUMNS = 1024


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.w = nn.Parameter(torch.rand(columns) + 0.5)

    def forward(self, x):
        return torch.cumsum(x, -1) * self.w


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return [COLUMNS]
