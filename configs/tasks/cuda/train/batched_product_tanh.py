# SPDX-License-Identifier: Apache-2.0
# Products of pairs of matrices, then tanh.
import torch
import torch.nn as nn

DEVICE = "cuda"
B, M, K, N = 24, 256, 192, 320


class Model(nn.Module):
    def forward(self, x, z):
        x = x @ z
        x = x * 0.07
        x = torch.tanh(x)
        return x


def get_inputs():
    return [torch.randn(B, M, K), torch.randn(B, K, N)]


def get_init_inputs():
    return []
