# SPDX-License-Identifier: Apache-2.0
# Runs fused operators as their parts: a fused operator hides how large the errors of its inner sums may be, and kernels
# that compute the parts one after another are just as honest.
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
    """Runs attention, layers that contain it and recurrent layers as parts, each in the task's own type."""
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
