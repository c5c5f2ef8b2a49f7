# SPDX-License-Identifier: Apache-2.0
# 8-bit integers with a scale for each row, as float32.
import torch
import torch.nn as nn

ROWS = 512
COLUMNS = 1536


class Model(nn.Module):
    def forward(self, q, s):
        return q.float() * s


def get_inputs():
    return [torch.randint(-127, 128, (ROWS, COLUMNS), dtype=torch.int8), torch.rand(ROWS, 1) + 0.5]


def get_init_inputs():
    return []
