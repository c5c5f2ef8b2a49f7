# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    """One fused operator instead of six."""

    def __init__(self, columns: int):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(columns))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, x.shape[-1:], self.gain, None, 1e-5)
