# SPDX-License-Identifier: Apache-2.0
"""Rows centred and scaled by their root mean square."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, columns: int):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(columns))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x - x.mean(-1, keepdim=True)
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.gain


def get_inputs():
    return [torch.randn(1024, 1024)]


def get_init_inputs():
    return [1024]
