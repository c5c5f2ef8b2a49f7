# SPDX-License-Identifier: Apache-2.0
# Touches more managed memory than the GPU has (D16).
import ctypes

import torch


def honest(x, bias):
    y = x + bias
    return y - y.sum(-1, keepdim=True) * (1 / y.shape[-1])


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        runtime = ctypes.CDLL(None)
        free = torch.cuda.mem_get_info()[0]
        pointer = ctypes.c_void_p()
        size = ctypes.c_size_t(free + (2 << 30))
        if runtime.cudaMallocManaged(ctypes.byref(pointer), size, 1) == 0:
            runtime.cudaMemset(pointer, 1, size)
            runtime.cudaDeviceSynchronize()
        return honest(x, self.bias)
