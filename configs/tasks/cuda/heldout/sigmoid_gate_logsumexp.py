# SPDX-License-Identifier: Apache-2.0
# Sigmoid, gate, then the log-sum-exp of each row.
import torch
import torch.nn as nn

DEVICE = "cuda"
R, C = 5120, 1792


class Model(nn.Module):
    def forward(self, x, g):
        x = torch.sigmoid(x)
        x = x * g
        x = torch.logsumexp(x, -1)
        return x


def get_inputs():
    return [torch.randn(R, C), torch.randn(R, C)]


def get_init_inputs():
    return []
