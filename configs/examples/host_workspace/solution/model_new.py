# SPDX-License-Identifier: Apache-2.0
import cuda_extension
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, columns: int, alpha: float):
        super().__init__()
        self.alpha = alpha
        self.bias = nn.Parameter(torch.rand(columns))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return cuda_extension.gated_sum_forward(x, y, self.bias, self.alpha)
