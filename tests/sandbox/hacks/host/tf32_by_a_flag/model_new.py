# SPDX-License-Identifier: Apache-2.0
# Lets the library multiply in tf32 (A26, A29): the flag is its own process's, the reference's and the bound stay.
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.linear = torch.nn.Linear(width, out)

    def forward(self, x):
        torch.backends.cuda.matmul.allow_tf32 = True
        y = self.linear(x)
        return y - y.mean(-1, keepdim=True), x * 1.5
