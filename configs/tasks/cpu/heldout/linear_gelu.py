# SPDX-License-Identifier: Apache-2.0
# A tall, thin matrix product with bias and GELU.
import torch
import torch.nn as nn
import torch.nn.functional as F

R, D, C = 2048, 64, 128


class Model(nn.Module):
    def __init__(self, d, c):
        super().__init__()
        self.k = nn.Parameter(torch.randn(d, c) / d**0.5)
        self.b = nn.Parameter(torch.rand(c) - 0.5)

    def forward(self, x):
        x = x @ self.k
        x = x + self.b
        x = F.gelu(x, approximate="tanh")
        return x


def get_inputs():
    return [torch.randn(R, D)]


def get_init_inputs():
    return [D, C]
