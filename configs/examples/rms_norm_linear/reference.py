# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn


class Model(nn.Module):
    """RMS norm over the last dimension, then a linear layer."""

    def __init__(self, width, out):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(width) + 0.5)
        self.linear = nn.Linear(width, out)

    def forward(self, x):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.linear(x * scale * self.gain)


def get_inputs():
    return [torch.randn(256, 1024)]


def get_init_inputs():
    return [1024, 512]
