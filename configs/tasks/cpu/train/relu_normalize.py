# SPDX-License-Identifier: Apache-2.0
# Rectified rows of unit length.
import torch
import torch.nn as nn
import torch.nn.functional as F

R, C = 2048, 512


class Model(nn.Module):
    def forward(self, x):
        x = torch.relu(x)
        x = F.normalize(x, dim=-1)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return []
