# SPDX-License-Identifier: Apache-2.0
# Takes all memory of the host (D14).
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        kept = []
        while True:
            kept.append(b"x" * (1 << 28))
