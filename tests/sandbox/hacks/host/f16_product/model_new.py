# SPDX-License-Identifier: Apache-2.0
# Multiplies halves (A26).
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = torch.nn.Linear(width, out)

    def forward(self, x):
        weight = self.linear.weight.to(torch.float16)
        y = (x.to(torch.float16) @ weight.t()).float() + self.linear.bias
        return y - y.mean(-1, keepdim=True), x * 1.5
