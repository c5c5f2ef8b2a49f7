# SPDX-License-Identifier: Apache-2.0
# Sums in chosen orders as a GPU's kernels compute them: slices are added in place, and terms are never gathered.
import itertools
from typing import NamedTuple

import torch

import operators as op
import orders

_BLOCK = 64  # of a scan that carries the sums of its blocks
_LEAF = 32  # terms that a pairwise sum adds one after another
_LANES = 8
_WORK = 2**33  # multiplications of an evaluation; of larger products only some rows are computed in the order
_STEPS = 2**13  # additions one after another in an evaluation, each of which needs a launch
_LEAST_CHAIN = 16


class Effort(NamedTuple):
    """The limits of one ordered evaluation, so that its time is bounded for deep networks and huge tensors."""

    chain: int = op.SHARE  # the most terms that one thread adds; threads share longer sums
    work: int = _WORK  # multiplications of one product


def effort_for(lengths):
    """`lengths`: the terms of each operator that adds some."""
    sums = max(1, len(lengths))
    if sum(min(n, op.SHARE) for n in lengths) <= _STEPS:
        return Effort(op.SHARE, _WORK // sums)
    return Effort(max(_LEAST_CHAIN, min(op.SHARE, _STEPS // sums)), _WORK // sums)


def _sequential(count, zero, add):
    total = zero()
    for i in range(count):
        add(total, i)
    return total


def _lanes(count, zero, add):
    total = zero()
    for lane in range(min(_LANES, count)):
        part = zero()
        for i in range(lane, count, _LANES):
            add(part, i)
        total.add_(part)
    return total


def _pairwise(count, zero, add):
    parts = []  # pairs (leaves, sum), like the digits of a binary counter
    for first in range(0, count, _LEAF):
        part, leaves = zero(), 1
        for i in range(first, min(first + _LEAF, count)):
            add(part, i)
        while parts and parts[-1][0] == leaves:
            part, leaves = parts.pop()[1].add_(part), 2 * leaves
        parts.append((leaves, part))
    total = zero()
    for _, part in reversed(parts):
        total.add_(part)
    return total


def _add_terms(way, terms, threads, chain=op.SHARE):
    """Sums the last axis."""
    n = terms.shape[-1]
    if n >= op.SHARE or n > chain:
        threads = max(threads if n >= op.SHARE else 1, -(-n // chain))
        whole = n // threads
        shares = terms[..., :whole * threads].unflatten(-1, (whole, threads))
        sums = shares[..., 0, :].clone()
        for i in range(1, whole):
            sums.add_(shares[..., i, :])
        sums[..., :n - whole * threads].add_(terms[..., whole * threads:])
        return _add_terms(way, sums, threads, chain)
    return way(n, lambda: terms.new_zeros(terms.shape[:-1]), lambda total, i: total.add_(terms[..., i]))


def _scan_in_turn(x, dim):
    out = x.movedim(dim, 0).clone(memory_format=torch.contiguous_format)
    steps = out.unbind(0)
    for before, at in itertools.pairwise(steps):
        at.add_(before)
    return out.movedim(0, dim)


def _scan_by_blocks(x, dim):
    n = x.shape[dim]
    if n % _BLOCK != 0 or n == 0:
        return _scan_in_turn(x, dim)
    dim %= x.dim()
    blocks = _scan_in_turn(x.unflatten(dim, (-1, _BLOCK)), dim + 1)
    carried = _scan_by_blocks(blocks.select(dim + 1, _BLOCK - 1), dim)
    blocks.narrow(dim, 1, n // _BLOCK - 1).add_(carried.narrow(dim, 0, n // _BLOCK - 1).unsqueeze(dim + 1))
    return blocks.flatten(dim, dim + 1)


def _adder(way, threads, chain):
    def add(x, dims):
        kept = [d for d in range(x.dim()) if d not in dims]
        terms = x.permute(*kept, *dims).reshape(*(x.shape[d] for d in kept), -1)
        return _add_terms(way, terms, threads, chain).reshape([1 if d in dims else x.shape[d] for d in range(x.dim())])

    return add


class DeviceSums(orders.Sums):
    """`add(x, dims)` keeps the summed axes with extent 1; `scan(x, dim)` returns running sums."""

    def _sum(self, x, dims):
        return self.add(x, dims)

    def _op_cumsum(self, func, args):
        return self.scan(args[0], args[1])


class DeviceSumsAndProducts(DeviceSums):
    """Adds matrix products and convolutions: one update of rank 1 per term. Beyond the effort's work only some rows."""

    def __init__(self, way, threads, scan, effort):
        super().__init__(_adder(way, threads, effort.chain), scan)
        self.way, self.effort = way, effort

    def _rows(self, extent, work):
        """The rows to compute in the order, evenly spread, or None for all."""
        count = max(1, extent * self.effort.work // max(1, work))
        return None if count >= extent else torch.linspace(0, extent - 1, count).long()

    def _product(self, func, args, a, b, bias=None):
        """(…, m, k) · (…, k, n); skipped rows contain torch's own result."""
        rows = self._rows(a.shape[-2], a.numel() * b.shape[-1])
        if rows is not None:
            rows = rows.to(a.device)
            a = a.index_select(-2, rows)
        made = self._added(a, b)
        if bias is not None:
            made.add_(bias if rows is None or bias.dim() < 2 or bias.shape[-2] == 1 else bias.index_select(-2, rows))
        return made if rows is None else func(*args).index_copy_(-2, rows, made)

    def _added(self, a, b):
        """The product; threads share its terms if there are more than a chain."""
        count = a.shape[-1]
        threads = max(1, -(-count // self.effort.chain))
        whole = -(-count // threads)
        if spare := whole * threads - count:
            a, b = torch.nn.functional.pad(a, (0, spare)), torch.nn.functional.pad(b, (0, 0, 0, spare))
        lefts = a.unflatten(-1, (whole, threads)).movedim((-2, -1), (0, 1)).contiguous().unsqueeze(-1).unbind(0)
        rights = b.unflatten(-2, (whole, threads)).movedim((-3, -2), (0, 1)).unsqueeze(-2).unbind(0)
        sums = self.way(whole, lambda: a.new_zeros(threads, *a.shape[:-1], b.shape[-1]),
                        lambda total, i: total.addcmul_(lefts[i], rights[i]))
        return self._joined(sums)

    def _joined(self, sums):
        """The sum of the threads' shares, which are along the first axis."""
        return sums[0] if len(sums) == 1 else _add_terms(self.way, sums.movedim(0, -1), 1, self.effort.chain)

    def _op_mm(self, func, args):
        return self._product(func, args, *args)

    _op_bmm = _op_mm

    def _op_addmm(self, func, args):
        return self._product(func, args, args[1], args[2], args[0]) if len(args) == 3 else None

    def _op_convolution(self, func, args):
        x, weight, bias, stride, padding, dilation, transposed, _, groups = args
        if transposed:
            return None
        out = func(*args)
        work = out.numel() * weight[0].numel()
        images = self._rows(x.shape[0], work)
        if images is not None:
            x = x.index_select(0, images.to(x.device))
        pads = [p for size in reversed(padding) for p in (size, size)]
        x, slab = self._slab(torch.nn.functional.pad(x, pads), weight, out, stride[0], dilation[0])
        taps = _Taps(x, weight, (slab.stop - slab.start, *out.shape[3:]), stride, dilation, groups, self.effort.chain)
        made = self._joined(self.way(taps.count, taps.zero, taps.add)).flatten(1, 2)
        if bias is not None:
            made.add_(bias.reshape(-1, *(1 for _ in out.shape[2:])))
        for at, image in enumerate(range(len(out)) if images is None else images.tolist()):
            out[image, :, slab] = made[at]
        return out

    def _slab(self, x, weight, out, stride, dilation):
        """The part of padded images that produces the rows of the middle, and these rows: all if the work allows it."""
        extent, work = out.shape[2], x.shape[0] * out[0].numel() * weight[0].numel()
        count = min(extent, max(1, extent * self.effort.work // max(1, work)))
        first = (extent - count) // 2
        part = x.narrow(2, first * stride, (count - 1) * stride + (weight.shape[2] - 1) * dilation + 1)
        return (x if count == extent else part), slice(first, first + count)


class _Taps:
    """A convolution as a sum over input channels and places of the kernel; `x` is already padded. Threads share the
    channels if there are more terms than a chain."""

    def __init__(self, x, weight, extents, stride, dilation, groups, chain):
        threads = self._threads(weight.shape[1], weight[0].numel(), chain)
        self.x = x.unflatten(1, (groups, -1, threads))
        self.weight = weight.unflatten(1, (-1, threads)).unflatten(0, (groups, -1))
        self.extents, self.stride, self.dilation = extents, stride, dilation
        sizes = (weight.shape[1] // threads, *weight.shape[2:])
        self.places = list(itertools.product(*(range(size) for size in sizes)))
        self.count = len(self.places)

    @staticmethod
    def _threads(channels, terms, chain):
        """The least divisor of the channels with which no thread adds more than a chain, or one channel."""
        return next(t for t in range(1, channels + 1) if channels % t == 0 and (terms <= chain * t or t == channels))

    def zero(self):
        batch, groups, _, threads = self.x.shape[:4]
        return self.x.new_zeros(threads, batch, groups, self.weight.shape[1], *self.extents)

    def add(self, total, i):
        channel, *place = self.places[i]
        seen = self.x[:, :, channel]
        for d, (at, extent) in enumerate(zip(place, self.extents)):
            first, step = at * self.dilation[d], self.stride[d]
            seen = seen[(slice(None),) * (3 + d) + (slice(first, first + (extent - 1) * step + 1, step),)]
        factors = self.weight[(slice(None), slice(None), channel, slice(None), *place)].movedim(-1, 0)
        total.addcmul_(seen.movedim(2, 0).unsqueeze(3), factors[(..., *(None for _ in place))].unsqueeze(1))


def device_orders(effort=None):
    """Maps names to sums, as `orders.honest_orders` expects them."""
    effort = effort or effort_for([])
    return {"sequential": DeviceSumsAndProducts(_sequential, 256, _scan_in_turn, effort),
            "pairwise": DeviceSumsAndProducts(_pairwise, 1024, _scan_by_blocks, effort),
            "lanes": DeviceSumsAndProducts(_lanes, 64, _scan_by_blocks, effort)}
