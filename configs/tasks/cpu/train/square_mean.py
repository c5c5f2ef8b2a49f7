# SPDX-License-Identifier: Apache-2.0
# Mean square of the rows of a sum.
import torch
import torch.nn as nn

R, C = 2048, 512


class Model(nn.Module):
    def forward(self, x, z):
        x = x + z
        x = x * x
        x = x.mean(-1)
        return x


def get_inputs():
    return [torch.randn(R, C), torch.randn(R, C)]


def get_init_inputs():
    return []
