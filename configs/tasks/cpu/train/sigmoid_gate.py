# SPDX-License-Identifier: Apache-2.0
# A sigmoid that gates a second input.
import torch
import torch.nn as nn

R, C = 1280, 768


class Model(nn.Module):
    def forward(self, x, z):
        x = torch.sigmoid(x)
        x = x * z
        return x


def get_inputs():
    return [torch.randn(R, C), torch.randn(R, C)]


def get_init_inputs():
    return []
