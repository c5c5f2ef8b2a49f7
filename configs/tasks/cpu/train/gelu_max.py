# SPDX-License-Identifier: Apache-2.0
# Largest GELU of each row.
import torch
import torch.nn as nn
import torch.nn.functional as F

R, C = 512, 1024


class Model(nn.Module):
    def forward(self, x):
        x = F.gelu(x, approximate="tanh")
        x = x.amax(-1)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return []
