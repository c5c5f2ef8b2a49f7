# SPDX-License-Identifier: Apache-2.0
# The first half of each row through SiLU, times the second half.
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
R, C = 4096, 5120


class Model(nn.Module):
    def forward(self, x):
        a, b = x.chunk(2, -1)
        x = F.silu(a) * b
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return []
