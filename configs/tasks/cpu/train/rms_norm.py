# SPDX-License-Identifier: Apache-2.0
# RMS norm with gain.
import torch
import torch.nn as nn
import torch.nn.functional as F

R, C = 1536, 640


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w = nn.Parameter(torch.rand(c) + 0.5)

    def forward(self, x):
        x = F.rms_norm(x, x.shape[-1:], self.w)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return [C]
