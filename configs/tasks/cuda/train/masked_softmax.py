# SPDX-License-Identifier: Apache-2.0
# Softmax of the elements that a boolean mask leaves.
import torch
import torch.nn as nn

DEVICE = "cuda"
R, C = 3072, 4096


class Model(nn.Module):
    def forward(self, x, m):
        x = x.masked_fill(m, -1e9)
        x = torch.softmax(x, -1)
        return x


def get_inputs():
    return [torch.randn(R, C), torch.rand(R, C) < 0.25]


def get_ragged_inputs():
    return [torch.randn(601, C), torch.rand(601, C) < 0.25]


def get_init_inputs():
    return []
