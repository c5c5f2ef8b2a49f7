# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn


class Model(nn.Module):
    """The second of two tensors, copied: a plan with one copy step takes eager's time."""

    def forward(self, a, b):
        return b.clone()


def get_inputs():
    return [torch.randn(4096, 5120), torch.randn(4096, 5120)]


def get_init_inputs():
    return []
