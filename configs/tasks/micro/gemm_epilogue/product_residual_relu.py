# SPDX-License-Identifier: Apache-2.0
# A product whose epilogue adds a residual and applies ReLU.
import torch
import torch.nn as nn

ROWS = 160
INNER = 320
COLUMNS = 448


class Model(nn.Module):
    def forward(self, x, w, r):
        return torch.relu(x @ w + r)


def get_inputs():
    return [torch.randn(ROWS, INNER), torch.randn(INNER, COLUMNS) / 16, torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
