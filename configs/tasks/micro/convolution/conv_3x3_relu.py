# SPDX-License-Identifier: Apache-2.0
# A 3 x 3 convolution of all channels, then ReLU.
import torch
import torch.nn as nn
import torch.nn.functional as F

CHANNELS = 12
FILTERS = 20
HEIGHT = 48
WIDTH = 56


class Model(nn.Module):
    def __init__(self, channels, filters):
        super().__init__()
        self.k = nn.Parameter(torch.randn(filters, channels, 3, 3) / 10)

    def forward(self, x):
        return torch.relu(F.conv2d(x, self.k, padding=1))


def get_inputs():
    return [torch.randn(1, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, FILTERS]
