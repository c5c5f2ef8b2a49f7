# SPDX-License-Identifier: Apache-2.0
# The sum of several rows of a table for each output row.
import torch
import torch.nn as nn
import torch.nn.functional as F

BAGS = 256
PER_BAG = 12
ENTRIES = 2000
WIDTH = 192


class Model(nn.Module):
    def __init__(self, entries, width):
        super().__init__()
        self.t = nn.Parameter(torch.randn(entries, width))

    def forward(self, i):
        return F.embedding(i, self.t).sum(1)


def get_inputs():
    return [torch.randint(0, ENTRIES, (BAGS, PER_BAG))]


def get_init_inputs():
    return [ENTRIES, WIDTH]
