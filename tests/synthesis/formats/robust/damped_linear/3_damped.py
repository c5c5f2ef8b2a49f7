# SPDX-License-Identifier: Apache-2.0
# What a robust-kbench folder keeps of the task that its own was made from: no task of the folder.
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x / (1 + 0.5 * x * x)


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
