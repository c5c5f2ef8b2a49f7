# SPDX-License-Identifier: Apache-2.0
# A matrix transposed: one stream in, one out, one of them with strides.
import torch
import torch.nn as nn

ROWS = 640
COLUMNS = 896


class Model(nn.Module):
    def forward(self, x):
        return x.t().contiguous()


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
