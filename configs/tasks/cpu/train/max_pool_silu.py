# SPDX-License-Identifier: Apache-2.0
# 2 x 2 maximum pooling, then SiLU.
import torch
import torch.nn as nn
import torch.nn.functional as F

B, C, H, W = 4, 8, 48, 128


class Model(nn.Module):
    def forward(self, x):
        x = F.max_pool2d(x, 2)
        x = F.silu(x)
        return x


def get_inputs():
    return [torch.randn(B, C, H, W)]


def get_init_inputs():
    return []
