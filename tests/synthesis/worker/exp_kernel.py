# SPDX-License-Identifier: Apache-2.0
# A kernel for kernels_test.py. Triton reads its text.
import triton
import triton.language as tl


@triton.jit
def exp(x, y, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y + at, tl.exp(tl.load(x + at, mask=at < n)), mask=at < n)
