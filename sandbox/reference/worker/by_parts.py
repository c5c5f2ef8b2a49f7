# SPDX-License-Identifier: Apache-2.0
# Operators that libraries fuse, run as their parts: a fused one hides how far its inner sums may err, and kernels that
# make the parts one after another are as honest.
import contextlib

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode

import recurrent


class _RecurrentByParts(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        run = recurrent.in_parts(getattr(func, "__name__", "")) or func
        return run(*args, **(kwargs or {}))


@contextlib.contextmanager
def by_parts():
    """Attention, layers that hold it and recurrent layers in their parts, each in the task's own type."""
    sums_in_halves = torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
    fused_layers = torch.backends.mha.get_fastpath_enabled()
    torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH), _RecurrentByParts():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fused_layers)
        torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(sums_in_halves)
