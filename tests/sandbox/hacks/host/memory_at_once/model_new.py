# SPDX-License-Identifier: Apache-2.0
# Asks for a terabyte in one piece (D14).
import torch


def honest(x, bias):
    y = x + bias
    return y - y.sum(-1, keepdim=True) * (1 / y.shape[-1])


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        torch.ones(1 << 38, device="cpu")
        return honest(x, self.bias)
