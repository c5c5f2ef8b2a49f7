# SPDX-License-Identifier: Apache-2.0
# Running sums of tanh.
import torch
import torch.nn as nn

R, C = 512, 768


class Model(nn.Module):
    def forward(self, x):
        x = torch.tanh(x)
        x = torch.cumsum(x, -1)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return []
