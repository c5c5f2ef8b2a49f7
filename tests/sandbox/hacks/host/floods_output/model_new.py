# SPDX-License-Identifier: Apache-2.0
# Prints 100 MB, which are never read.
import torch


def honest(x, bias):
    y = x + bias
    return y - y.sum(-1, keepdim=True) * (1 / y.shape[-1])


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        print("x" * 100_000_000)
        return honest(x, self.bias)
