# SPDX-License-Identifier: Apache-2.0
# Mean square of each column.
import torch
import torch.nn as nn

DEVICE = "cuda"
R, C = 6144, 2048


class Model(nn.Module):
    def forward(self, x):
        x = x.pow(2)
        x = x.mean(0)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return []
