# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn

DEVICE = "cuda"
LANE = "tf32-allowed"


class Model(nn.Module):
    """A matrix product whose factors may be rounded to TF32: eager's are, and a plan's may be."""

    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(2048, 2048), torch.randn(2048, 2048)]


def get_init_inputs():
    return []
