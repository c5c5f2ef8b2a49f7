# SPDX-License-Identifier: Apache-2.0
# Linear layer, then GELU.
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
R, I, O = 1024, 1536, 2048


class Model(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.w = nn.Parameter(torch.randn(o, i) / 40)
        self.b = nn.Parameter(torch.rand(o) - 0.5)

    def forward(self, x):
        x = F.linear(x, self.w, self.b)
        x = F.gelu(x)
        return x


def get_inputs():
    return [torch.randn(R, I)]


def get_init_inputs():
    return [I, O]
