# SPDX-License-Identifier: Apache-2.0
# Log-softmax of squashed rows.
import torch
import torch.nn as nn

R, C = 384, 1024


class Model(nn.Module):
    def forward(self, x):
        x = torch.tanh(x)
        x = torch.log_softmax(x, -1)
        return x


def get_inputs():
    return [torch.randn(R, C)]


def get_init_inputs():
    return []
