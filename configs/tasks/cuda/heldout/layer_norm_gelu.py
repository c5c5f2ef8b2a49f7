# SPDX-License-Identifier: Apache-2.0
# Layer norm, then GELU.
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
R, C = 5120, 2560


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w = nn.Parameter(torch.rand(c) + 0.5)
        self.b = nn.Parameter(torch.rand(c) - 0.5)

    def forward(self, x):
        x = F.layer_norm(x, x.shape[-1:], self.w, self.b)
        x = F.gelu(x)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return [C]
