# SPDX-License-Identifier: Apache-2.0
# The deviations of perturbed evaluations from the reference. The bound's spread is computed from them.
import torch

import chunks
import modes

# A share of the largest deviation, about the mean of many deviations of any kind. Two errors of equal size nearly
# cancel in evaluations where their signs differ, and by chance that may be most of them.
LARGEST_SHARE = 0.4


class Deviations:
    """Mean absolute deviations per element, accumulated in the tensors `sums`.

    For half types, whose bound is close to honest errors, they are at least a share of the largest deviation.
    """

    def __init__(self, sums, reference, narrow):
        self.sums, self.reference, self.count = sums, reference, 0
        self.largest = [torch.zeros_like(total) for total in sums] if narrow else sums
        self.narrow = narrow
        for total in sums:
            total.zero_()

    def add(self, pairs):
        """Adds one evaluation, given as pairs (rows, outputs of these rows). Float32 suffices: the reference's own
        rounding is below the bound's floor."""
        self.count += 1
        for rows, outs in pairs:
            for *kept, out in zip(self.sums, self.largest, self.reference, outs):
                self._add(*(tensor[rows] for tensor in kept), out)

    def _add(self, *tensors):
        for total, largest, exact, out in chunks.chunks(*tensors):
            deviation = chunks.deviation(out, exact)
            total.add_(deviation)  # not squares, which underflow below 1e-19
            if self.narrow:
                torch.maximum(largest, deviation, out=largest)

    def settle(self):
        """Leaves the spread in `sums`."""
        for total, largest in zip(self.sums, self.largest):
            total.div_(self.count)
            if self.narrow:
                torch.maximum(total, largest.mul_(LARGEST_SHARE), out=total).mul_(modes.NARROW_WEIGHT)
