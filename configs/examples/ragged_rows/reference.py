# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

R, C = 512, 768


class Model(nn.Module):
    """Rows scaled to unit length. Agents do not see the sizes of get_ragged_inputs."""

    def __init__(self, c):
        super().__init__()
        self.w = nn.Parameter(torch.rand(c) + 0.5)

    def forward(self, x):
        x = x * self.w
        return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + 1e-6)


def get_inputs():
    return [torch.randn(R, C)]


def get_ragged_inputs():
    return [torch.randn(389, C)]


def get_init_inputs():
    return [C]
