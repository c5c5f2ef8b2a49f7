# SPDX-License-Identifier: Apache-2.0
# SiLU and gate in bfloat16.
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
R, C = 4096, 6144


class Model(nn.Module):
    def forward(self, x, g):
        x = F.silu(x)
        x = x * g
        return x


def get_inputs():
    return [torch.randn(R, C).bfloat16(), torch.randn(R, C).bfloat16()]


def get_ragged_inputs():
    return [torch.randn(421, C).bfloat16(), torch.randn(421, C).bfloat16()]


def get_init_inputs():
    return []
