# SPDX-License-Identifier: Apache-2.0
# Group norm of 6 groups, then ReLU.
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
B, C, H, W = 16, 48, 96, 112


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.w = nn.Parameter(torch.rand(c) + 0.5)
        self.b = nn.Parameter(torch.rand(c) - 0.5)

    def forward(self, x):
        x = F.group_norm(x, 6, self.w, self.b)
        x = torch.relu(x)
        return x


def get_inputs():
    return [torch.randn(B, C, H, W)]


def get_init_inputs():
    return [C]
