# SPDX-License-Identifier: Apache-2.0
# Two streams in, one out: 0.75 a + b.
import torch
import torch.nn as nn

ROWS = 384
COLUMNS = 1536


class Model(nn.Module):
    def forward(self, a, b):
        return 0.75 * a + b


def get_inputs():
    return [torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
