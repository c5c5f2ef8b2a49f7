# SPDX-License-Identifier: Apache-2.0
# GELU, then the maximum of each row.
import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"
R, C = 8192, 1536


class Model(nn.Module):
    def forward(self, x):
        x = F.gelu(x)
        x = x.amax(-1)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_ragged_inputs():
    return [torch.randn(1013, C)]


def get_init_inputs():
    return []
