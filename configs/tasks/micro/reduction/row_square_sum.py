# SPDX-License-Identifier: Apache-2.0
# The sum of squares of each row.
import torch
import torch.nn as nn

ROWS = 512
COLUMNS = 1280


class Model(nn.Module):
    def forward(self, x):
        return x.pow(2).sum(-1)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
