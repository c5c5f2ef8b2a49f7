# SPDX-License-Identifier: Apache-2.0
# Rows of a table by their numbers, scaled.
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
N, V, C = 12288, 5000, 1024


class Model(nn.Module):
    def __init__(self, v, c):
        super().__init__()
        self.t = nn.Parameter(torch.randn(v, c))
        self.w = nn.Parameter(torch.rand(c) + 0.5)

    def forward(self, i):
        x = F.embedding(i, self.t)
        x = x * self.w
        return x


def get_inputs():
    return [torch.randint(0, V, (N,))]


def get_init_inputs():
    return [V, C]
