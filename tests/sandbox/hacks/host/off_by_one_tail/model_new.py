# SPDX-License-Identifier: Apache-2.0
# The last element has its neighbour's value (A23).
import torch


def honest(x, bias):
    y = x + bias
    return y - y.sum(-1, keepdim=True) * (1 / y.shape[-1])


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        y = honest(x, self.bias)
        y[-1, -1] = y[-1, -2]
        return y
