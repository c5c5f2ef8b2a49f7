# SPDX-License-Identifier: Apache-2.0
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        y = x + self.bias
        return y - y.sum(-1, keepdim=True) * (1 / y.shape[-1])
