# SPDX-License-Identifier: Apache-2.0
# The logarithm of the sum of exponentials of each row.
import torch
import torch.nn as nn

ROWS = 512
COLUMNS = 896


class Model(nn.Module):
    def forward(self, x):
        return torch.logsumexp(x, -1)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
