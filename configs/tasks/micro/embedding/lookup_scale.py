# SPDX-License-Identifier: Apache-2.0
# Rows of a table by their numbers, scaled.
import torch
import torch.nn as nn
import torch.nn.functional as F

LOOKUPS = 1536
ENTRIES = 3000
WIDTH = 256


class Model(nn.Module):
    def __init__(self, entries, width):
        super().__init__()
        self.t = nn.Parameter(torch.randn(entries, width))
        self.w = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, i):
        return F.embedding(i, self.t) * self.w


def get_inputs():
    return [torch.randint(0, ENTRIES, (LOOKUPS,))]


def get_init_inputs():
    return [ENTRIES, WIDTH]
