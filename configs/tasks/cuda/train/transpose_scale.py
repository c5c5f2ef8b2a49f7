# SPDX-License-Identifier: Apache-2.0
# Matrices transposed in memory, then scaled by columns.
import torch
import torch.nn as nn

DEVICE = "cuda"
B, H, W = 8, 1024, 1536


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w = nn.Parameter(torch.rand(c) + 0.5)

    def forward(self, x):
        x = x.transpose(1, 2).contiguous()
        x = x * self.w
        return x


def get_inputs():
    return [torch.randn(B, H, W)]


def get_init_inputs():
    return [H]
