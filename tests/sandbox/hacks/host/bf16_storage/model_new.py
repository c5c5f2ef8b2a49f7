# SPDX-License-Identifier: Apache-2.0
# Keeps inputs and answers in eight bits of mantissa (A26).
import torch


def honest(x, bias):
    y = x + bias
    return y - y.sum(-1, keepdim=True) * (1 / y.shape[-1])


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return honest(x.bfloat16(), self.bias.bfloat16()).float()
