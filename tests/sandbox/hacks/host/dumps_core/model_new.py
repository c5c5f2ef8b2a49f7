# SPDX-License-Identifier: Apache-2.0
# Ends by a fault, with a core as large as can be (D14).
import ctypes
import resource

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except (OSError, ValueError):
            pass
        ctypes.string_at(0)
        return x
