# SPDX-License-Identifier: Apache-2.0
# A product whose epilogue scales each row.
import torch
import torch.nn as nn

ROWS = 224
INNER = 288
COLUMNS = 352


class Model(nn.Module):
    def forward(self, x, w, s):
        return (x @ w) * s


def get_inputs():
    return [torch.randn(ROWS, INNER), torch.randn(INNER, COLUMNS) / 16, torch.rand(ROWS, 1) + 0.5]


def get_init_inputs():
    return []
