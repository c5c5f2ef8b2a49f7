# SPDX-License-Identifier: Apache-2.0
# Mean softplus of each row.
import torch
import torch.nn as nn
import torch.nn.functional as F

R, C = 512, 768


class Model(nn.Module):
    def forward(self, x):
        x = F.softplus(x)
        x = x.mean(-1)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return []
