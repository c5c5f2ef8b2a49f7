# SPDX-License-Identifier: Apache-2.0
# Running sums down the columns.
import torch
import torch.nn as nn

ROWS = 384
COLUMNS = 1152


class Model(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, 0)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
