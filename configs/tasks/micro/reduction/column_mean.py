# SPDX-License-Identifier: Apache-2.0
# The mean of each column: the reduced dimension is the outer one.
import torch
import torch.nn as nn

ROWS = 768
COLUMNS = 1024


class Model(nn.Module):
    def forward(self, x):
        return torch.sigmoid(x).mean(0)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
