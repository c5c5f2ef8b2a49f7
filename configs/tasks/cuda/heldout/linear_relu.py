# SPDX-License-Identifier: Apache-2.0
# Linear layer, then ReLU.
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
R, I, O = 1280, 1024, 1792


class Model(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.w = nn.Parameter(torch.randn(o, i) / 40)
        self.b = nn.Parameter(torch.rand(o) - 0.5)

    def forward(self, x):
        x = F.linear(x, self.w, self.b)
        x = torch.relu(x)
        return x


def get_inputs():
    return [torch.randn(R, I)]


def get_init_inputs():
    return [I, O]
