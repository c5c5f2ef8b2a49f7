# SPDX-License-Identifier: Apache-2.0
# 2 x 2 maximum pooling, then SiLU.
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
B, C, H, W = 16, 32, 128, 256


class Model(nn.Module):
    def forward(self, x):
        x = F.max_pool2d(x, 2)
        x = F.silu(x)
        return x


def get_inputs():
    return [torch.randn(B, C, H, W)]


def get_init_inputs():
    return []
