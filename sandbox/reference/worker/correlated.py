# SPDX-License-Identifier: Apache-2.0
# Rounding errors of a sum that add up instead of cancelling: n u where random ones reach sqrt(n) u.
#
# A running sum rounds equal terms the same way each time, and loses every term that is small against it. Zeros of a
# sparse set become such terms behind an exponential or once a mean is subtracted.
import itertools
import math

import numpy as np

import orders

_U = 2.0**-24
_SAMPLE = 256  # terms that stand for all of a longer sum
_SMALL = 8  # terms below so many u of the sum are rounded to a few values, mostly one


class CorrelatedErrors:
    """Makes sums that err by all that equal and small terms may cause, in the directions of `signs`, taken in turn.

    `sums_hit` counts the sums that had more of them than random errors amount to.
    """

    def __init__(self, generator, signs):
        self.signs, self.sums_hit = itertools.cycle(signs), 0
        self.generator = generator
        self.sums = orders.Sums(self._add, self._scan)

    def _pairs(self, n):
        """Positions of terms, and of others to compare them with."""
        if n <= _SAMPLE:
            order = self.generator.permutation(n)
            return order, np.roll(order, 1)
        drawn = self.generator.integers(0, n, (2, _SAMPLE))
        return drawn[0], np.where(drawn[0] == drawn[1], (drawn[1] + 1) % n, drawn[1])

    def _count(self, terms, reach):
        """Terms whose errors share a sign, per sum: n sqrt(p) for p the chance that two terms are equal."""
        n = terms.shape[-1]
        some, others = (terms.take(at, -1) for at in self._pairs(n))
        # Largest rounding error that each term may cause, in u of the largest partial sum.
        weights = np.abs(some)
        weights /= np.maximum(reach * np.float32(_U), np.float32(2**-126))[..., None]
        small = np.where(weights < _SMALL, np.sign(some), np.float32(0))
        np.minimum(weights, 1, out=weights)
        alike = np.sqrt(np.mean(weights * weights * (some == others), -1))
        small *= weights
        lost = np.abs(small.sum(-1)) - 2 * np.sqrt((small * small).sum(-1))  # signs that merely differ by chance
        count = n * np.minimum(alike + np.maximum(lost, 0) / some.shape[-1], weights.mean(-1))
        return np.where(count > 2 * math.sqrt(n), count, np.float32(0))

    def _error(self, terms, total):
        """`total` is each sum. Partial sums of mixed signs walk about it."""
        reach = np.abs(total) + 2 * np.sqrt(np.einsum("...i,...i->...", terms, terms))
        error = np.float32(next(self.signs) * _U) * reach * self._count(terms, reach)
        self.sums_hit += int(error.any())
        return error

    def _add(self, terms):
        total = terms.sum(-1, dtype=np.float32)
        return total + self._error(terms, total)

    def _scan(self, terms):
        sums = np.add.accumulate(terms, axis=-1, dtype=np.float32)
        reached = np.linspace(0, 1, terms.shape[-1], dtype=np.float32)
        return sums + self._error(terms, sums[..., -1])[..., None] * reached
