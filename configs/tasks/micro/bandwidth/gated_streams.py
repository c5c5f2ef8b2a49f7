# SPDX-License-Identifier: Apache-2.0
# Three streams in, one out: x silu(y) + z.
import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 320
COLUMNS = 1024


class Model(nn.Module):
    def forward(self, x, y, z):
        return x * F.silu(y) + z


def get_inputs():
    return [torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
