# SPDX-License-Identifier: Apache-2.0
# Softmax attention of small heads, keys transposed.
import torch
import torch.nn as nn

DEVICE = "cuda"
H, T, D = 24, 512, 64


class Model(nn.Module):
    def forward(self, q, k, v):
        x = q @ k
        x = x * 0.125
        x = torch.softmax(x, -1)
        x = x @ v
        return x


def get_inputs():
    return [torch.randn(H, T, D), torch.randn(H, D, T), torch.randn(H, T, D)]


def get_init_inputs():
    return []
