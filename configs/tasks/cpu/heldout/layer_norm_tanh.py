# SPDX-License-Identifier: Apache-2.0
# Layer norm, then tanh.
import torch
import torch.nn as nn
import torch.nn.functional as F

R, C = 512, 1024


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w = nn.Parameter(torch.rand(c) + 0.5)
        self.b = nn.Parameter(torch.rand(c) - 0.5)

    def forward(self, x):
        x = F.layer_norm(x, x.shape[-1:], self.w, self.b)
        x = torch.tanh(x)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return [C]
