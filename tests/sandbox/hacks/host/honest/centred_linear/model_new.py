# SPDX-License-Identifier: Apache-2.0
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = torch.nn.Linear(width, out)

    def forward(self, x):
        y = torch.addmm(self.linear.bias, x, self.linear.weight.t())
        return y - y.sum(-1, keepdim=True) * (1 / y.shape[-1]), x + 0.5 * x
