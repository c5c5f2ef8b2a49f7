# SPDX-License-Identifier: Apache-2.0
# ReLU, then the log-sum-exp of each row.
import torch
import torch.nn as nn

DEVICE = "cuda"
R, C = 8192, 2048


class Model(nn.Module):
    def forward(self, x):
        x = torch.relu(x)
        x = torch.logsumexp(x, -1)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_ragged_inputs():
    return [torch.randn(1009, C)]


def get_init_inputs():
    return []
