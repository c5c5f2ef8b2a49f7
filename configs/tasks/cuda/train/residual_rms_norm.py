# SPDX-License-Identifier: Apache-2.0
# Residual sum, then RMS norm.
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
R, C = 4096, 2560


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w = nn.Parameter(torch.rand(c) + 0.5)

    def forward(self, x, z):
        x = x + z
        x = F.rms_norm(x, x.shape[-1:], self.w, 1e-6)
        return x


def get_inputs():
    return [torch.randn(R, C), torch.randn(R, C)]


def get_ragged_inputs():
    return [torch.randn(1109, C), torch.randn(1109, C)]


def get_init_inputs():
    return [C]
