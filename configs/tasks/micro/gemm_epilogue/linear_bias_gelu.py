# SPDX-License-Identifier: Apache-2.0
# A linear layer whose epilogue is a bias and the tanh form of GELU.
import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 192
INNER = 256
COLUMNS = 384


class Model(nn.Module):
    def __init__(self, inner, columns):
        super().__init__()
        self.linear = nn.Linear(inner, columns)

    def forward(self, x):
        return F.gelu(self.linear(x), approximate="tanh")


def get_inputs():
    return [torch.randn(ROWS, INNER)]


def get_init_inputs():
    return [INNER, COLUMNS]
