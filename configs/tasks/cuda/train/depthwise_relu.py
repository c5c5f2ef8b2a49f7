# SPDX-License-Identifier: Apache-2.0
# Depthwise 3 x 3 convolution, then ReLU.
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
B, C, H, W = 8, 48, 130, 258


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.k = nn.Parameter(torch.randn(c, 1, 3, 3) / 3)

    def forward(self, x):
        x = F.conv2d(x, self.k, groups=x.shape[1])
        x = torch.relu(x)
        return x


def get_inputs():
    return [torch.randn(B, C, H, W)]


def get_init_inputs():
    return [C]
