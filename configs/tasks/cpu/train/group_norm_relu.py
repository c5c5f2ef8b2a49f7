# SPDX-License-Identifier: Apache-2.0
# Group norm over 8 groups, then ReLU.
import torch
import torch.nn as nn
import torch.nn.functional as F

B, C, L = 60, 64, 256


class Model(nn.Module):
    def forward(self, x):
        x = F.group_norm(x, 8)
        x = torch.relu(x)
        return x


def get_inputs():
    return [torch.randn(B, C, L)]


def get_init_inputs():
    return []
