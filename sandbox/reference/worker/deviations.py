# SPDX-License-Identifier: Apache-2.0
# How far perturbed evaluations lie from the reference: what the bound's spread is made of.
import torch

import chunks
import modes

# Of the largest deviation: what a mean of many of them comes to, whatever they are made of. Two errors of one size
# cancel nearly in every evaluation where their signs differ, and by chance that may be most of them.
LARGEST_SHARE = 0.4


class Deviations:
    """Mean absolute deviations per element, summed up in the tensors `sums`.

    Of half types, whose bound lies near what is honest, no less than a share of the largest one.
    """

    def __init__(self, sums, reference, narrow):
        self.sums, self.reference, self.count = sums, reference, 0
        self.largest = [torch.zeros_like(total) for total in sums] if narrow else sums
        self.narrow = narrow
        for total in sums:
            total.zero_()

    def add(self, outs):
        """Takes in one evaluation. In float32: the reference's own rounding is below the bound's floor."""
        self.count += 1
        for tensors in zip(self.sums, self.largest, self.reference, outs):
            for total, largest, exact, out in chunks.chunks(*tensors):
                deviation = (out.float() - exact.float()).abs_()
                total.add_(deviation)  # squares would underflow below 1e-19
                if self.narrow:
                    torch.maximum(largest, deviation, out=largest)

    def settle(self):
        """Leaves the spread in `sums`."""
        for total, largest in zip(self.sums, self.largest):
            total.div_(self.count)
            if self.narrow:
                torch.maximum(total, largest.mul_(LARGEST_SHARE), out=total).mul_(modes.NARROW_WEIGHT)
