# SPDX-License-Identifier: Apache-2.0
# A task in the form of robust-kbench, for tests: defaults in the signatures, other values in config_forward.json.
import torch
import torch.nn as nn


def forward_fn(x, weight, damping):
    """Multiplies by the weight and divides by one plus the damped square."""
    y = x @ weight
    return y / (1 + damping * y * y)


class Model(nn.Module):
    def __init__(self, width: int = 512, depth: int = 512, damping: float = 0.5):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, depth) / width**0.5)
        self.damping = damping

    def forward(self, x, fn=forward_fn):
        return fn(x, self.weight, self.damping)


def get_inputs(rows: int = 256, width: int = 512):
    return [torch.randn(rows, width)]


input_names = ["x"]
