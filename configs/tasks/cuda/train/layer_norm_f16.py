# SPDX-License-Identifier: Apache-2.0
# Layer norm in half precision.
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
R, C = 8192, 3072


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w = nn.Parameter((torch.rand(c) + 0.5).half())
        self.b = nn.Parameter((torch.rand(c) - 0.5).half())

    def forward(self, x):
        x = F.layer_norm(x, x.shape[-1:], self.w, self.b)
        return x


def get_inputs():
    return [torch.randn(R, C).half()]


def get_ragged_inputs():
    return [torch.randn(509, C).half()]


def get_init_inputs():
    return [C]
