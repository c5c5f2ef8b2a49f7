# SPDX-License-Identifier: Apache-2.0
# Models rounding errors of a sum that add up instead of cancelling: n u where random errors reach sqrt(n) u.
#
# A running sum rounds equal terms the same way each time, and loses every term that is small against it. The zeros of a
# sparse set become such terms after an exponential or the subtraction of a mean.
import itertools
import math

import numpy as np
import torch

import device_sums
import operators as op
import orders

_U = 2.0**-24
_SAMPLE = 256  # number of terms that represent a longer sum
_SMALL = 8  # terms smaller than this many u of the sum all round to one or a few values


class CorrelatedErrors:
    """Computes sums with the error that equal and small terms may cause, in the directions of `signs` in turn.

    `sums_hit` counts the sums in which this error exceeds random errors.
    """

    def __init__(self, generator, signs):
        self.signs, self.sums_hit = itertools.cycle(signs), 0
        self.generator = generator
        self.sums = self._sums()

    def _sums(self):
        return orders.Sums(self._add, self._scan)

    def _pairs(self, n):
        """Positions of terms, and of other terms to compare them with."""
        if n <= _SAMPLE:
            order = self.generator.permutation(n)
            return order, np.roll(order, 1)
        drawn = self.generator.integers(0, n, (2, _SAMPLE))
        return drawn[0], np.where(drawn[0] == drawn[1], (drawn[1] + 1) % n, drawn[1])

    def _count(self, terms, reach):
        """Number of terms whose errors share a sign, per sum: n sqrt(p) if two terms are equal with probability p."""
        n = terms.shape[-1]
        some, others = (terms.take(at, -1) for at in self._pairs(n))
        # The largest rounding error that each term may cause, in u of the largest partial sum.
        weights = np.abs(some)
        weights /= np.maximum(reach * np.float32(_U), np.float32(2**-126))[..., None]
        small = np.where(weights < _SMALL, np.sign(some), np.float32(0))
        np.minimum(weights, 1, out=weights)
        alike = np.sqrt(np.mean(weights * weights * (some == others), -1))
        small *= weights
        lost = np.abs(small.sum(-1)) - 2 * np.sqrt((small * small).sum(-1))  # minus the imbalance by chance
        count = n * np.minimum(alike + np.maximum(lost, 0) / some.shape[-1], weights.mean(-1))
        return np.where(count > 2 * math.sqrt(n), count, np.float32(0))

    def _error(self, terms, total):
        """`total` contains the sums. Partial sums of mixed signs exceed it by a random walk."""
        reach = np.abs(total) + 2 * np.sqrt(np.einsum("...i,...i->...", terms, terms))
        reach = np.nan_to_num(reach, nan=0, posinf=0, neginf=0)  # a sum of infinite terms has no rounding error
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


_ELEMENTS = 2**24  # sampled terms in memory at a time, on a device


class DeviceCorrelatedErrors(CorrelatedErrors):
    """The same model for tensors on any device, with sums shared among threads. Copies only the sampled terms.

    The shares of one sum have equal errors, and so does the sum of the shares.
    """

    def _sums(self):
        return device_sums.DeviceSums(self._add, self._scan)

    def _sampled(self, x, dims, at):
        """Terms at positions counted over `dims` together, as the last axis."""
        indices = np.unravel_index(at, [x.shape[d] for d in dims])
        kept = [d for d in range(x.dim()) if d not in dims]
        if len(dims) == 1:
            return x.index_select(dims[0], torch.from_numpy(indices[0]).to(x.device)).movedim(dims[0], -1)
        return x.permute(*kept, *dims)[(..., *(torch.from_numpy(i).to(x.device) for i in indices))]

    def _count_of(self, some, others, reach, n):
        weights = some.abs().div_((reach * _U).clamp_(min=2**-126).unsqueeze(-1))
        small = torch.where(weights < _SMALL, some.sign(), 0)
        weights.clamp_(max=1)
        alike = weights.square().mul_(some == others).mean(-1).sqrt_()
        small.mul_(weights)
        lost = small.sum(-1).abs_().sub_(torch.linalg.vector_norm(small, dim=-1), alpha=2)
        count = torch.minimum(alike + lost.clamp_(min=0) / some.shape[-1], weights.mean(-1)).mul_(n)
        return torch.where(count > 2 * math.sqrt(n), count, 0)

    def _error_of(self, x, dims, total):
        """`total` keeps the summed axes with extent 1."""
        if not dims or x.numel() == 0:
            return torch.zeros_like(total)
        n = math.prod(x.shape[d] for d in dims)
        share = min(n, op.SHARE)
        shares = n / share
        walk = torch.linalg.vector_norm(x, dim=dims, keepdim=True)  # random walk of partial sums with mixed signs
        reach = total.abs().div_(shares).add_(walk, alpha=2 / math.sqrt(shares))
        reach.nan_to_num_(nan=0, posinf=0, neginf=0)  # a sum of infinite terms has no rounding error
        kept = [d for d in range(x.dim()) if d not in dims]
        pairs = self._pairs(n)
        axis = max(kept, key=lambda d: x.shape[d], default=None)
        rows = x.shape[axis] if axis is not None else 1
        step = max(1, _ELEMENTS * rows // (max(1, total.numel()) * len(pairs[0])))
        counts = []
        for first in range(0, rows, step):
            width = min(step, rows - first)
            part, bounds = (t if axis is None else t.narrow(axis, first, width) for t in (x, reach))
            bounds = bounds.reshape([part.shape[d] for d in kept])
            counts.append(self._count_of(*(self._sampled(part, dims, at) for at in pairs), bounds, share))
        count = counts[0] if len(counts) == 1 else torch.cat(counts, kept.index(axis))
        all_shares = shares * op.chain(n) / share
        error = reach.mul_(count.reshape(total.shape)).mul_(next(self.signs) * all_shares * _U)
        self.sums_hit += int(error.any())
        return error

    def _add(self, x, dims):
        total = x.sum(dims, keepdim=True)
        return total + self._error_of(x, dims, total)

    def _scan(self, x, dim):
        sums = torch.cumsum(x, dim)
        n = x.shape[dim]
        if n == 0:
            return sums
        dim %= x.dim()
        error = self._error_of(x, [dim], sums.narrow(dim, n - 1, 1))
        reached = torch.linspace(0, 1, n, device=x.device)
        return sums.addcmul_(error, reached.reshape([-1 if d == dim else 1 for d in range(x.dim())]))


def errors_for(place, generator, signs):
    kind = CorrelatedErrors if place.type == "cpu" else DeviceCorrelatedErrors
    return kind(generator, signs)
