# SPDX-License-Identifier: Apache-2.0
# 3 x 3 convolution of all channels, then ReLU.
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
B, C, K, H, W = 8, 24, 40, 66, 130


class Model(nn.Module):
    def __init__(self, c, k):
        super().__init__()
        self.k = nn.Parameter(torch.randn(k, c, 3, 3) / 15)

    def forward(self, x):
        x = F.conv2d(x, self.k, padding=1)
        x = torch.relu(x)
        return x


def get_inputs():
    return [torch.randn(B, C, H, W)]


def get_init_inputs():
    return [C, K]
