# SPDX-License-Identifier: Apache-2.0
# Tanh, then log-softmax of long rows.
import torch
import torch.nn as nn

DEVICE = "cuda"
R, C = 2048, 5120


class Model(nn.Module):
    def forward(self, x):
        x = torch.tanh(x)
        x = torch.log_softmax(x, -1)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_ragged_inputs():
    return [torch.randn(499, C)]


def get_init_inputs():
    return []
