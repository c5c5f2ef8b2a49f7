# SPDX-License-Identifier: Apache-2.0
# A vector times 8-bit weights with a scale for each row: bound by memory.
import torch
import torch.nn as nn

ROWS = 1024
COLUMNS = 896


class Model(nn.Module):
    def forward(self, q, s, x):
        return (q.float() @ x) * s


def get_inputs():
    return [torch.randint(-127, 128, (ROWS, COLUMNS), dtype=torch.int8), torch.rand(ROWS) + 0.5, torch.randn(COLUMNS)]


def get_init_inputs():
    return []
