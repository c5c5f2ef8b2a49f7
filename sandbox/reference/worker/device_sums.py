# SPDX-License-Identifier: Apache-2.0
# Sums in chosen orders as a GPU's kernels make them: slices are added in place, and terms are never gathered.
import itertools

import torch

import operators as op
import orders

_BLOCK = 64  # of a scan that carries the sums of its blocks
_LEAF = 32  # terms that a pairwise sum adds one after another
_LANES = 8
_WORK = 2**33  # largest number of multiplications of a product; beyond it only some rows are made in the order


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


def _add_terms(way, terms, threads):
    """Sums the last axis."""
    n = terms.shape[-1]
    if n >= op.SHARE:
        threads = max(threads, -(-n // op.SHARE))
        whole = n // threads
        shares = terms[..., :whole * threads].unflatten(-1, (whole, threads))
        sums = shares[..., 0, :].clone()
        for i in range(1, whole):
            sums.add_(shares[..., i, :])
        sums[..., :n - whole * threads].add_(terms[..., whole * threads:])
        return _add_terms(way, sums, threads)
    return way(n, lambda: terms.new_zeros(terms.shape[:-1]), lambda total, i: total.add_(terms[..., i]))


def _scan_in_turn(x, dim):
    out = x.clone()
    for i in range(1, x.shape[dim]):
        out.select(dim, i).add_(out.select(dim, i - 1))
    return out


def _scan_by_blocks(x, dim):
    n = x.shape[dim]
    if n % _BLOCK != 0 or n == 0:
        return _scan_in_turn(x, dim)
    dim %= x.dim()
    blocks = _scan_in_turn(x.unflatten(dim, (-1, _BLOCK)), dim + 1)
    carried = _scan_by_blocks(blocks.select(dim + 1, _BLOCK - 1), dim)
    blocks.narrow(dim, 1, n // _BLOCK - 1).add_(carried.narrow(dim, 0, n // _BLOCK - 1).unsqueeze(dim + 1))
    return blocks.flatten(dim, dim + 1)


def _adder(way, threads):
    def add(x, dims):
        kept = [d for d in range(x.dim()) if d not in dims]
        terms = x.permute(*kept, *dims).reshape(*(x.shape[d] for d in kept), -1)
        return _add_terms(way, terms, threads).reshape([1 if d in dims else x.shape[d] for d in range(x.dim())])

    return add


class DeviceSums(orders.Sums):
    """`add(x, dims)` keeps the summed axes with extent 1; `scan(x, dim)` returns running sums."""

    def _sum(self, x, dims):
        return self.add(x, dims)

    def _op_cumsum(self, func, args):
        return self.scan(args[0], args[1])


class DeviceSumsAndProducts(DeviceSums):
    """Adds matrix products and convolutions: one update of rank 1 per term. Beyond `_WORK` only evenly spread rows."""

    def __init__(self, way, threads, scan):
        super().__init__(_adder(way, threads), scan)
        self.way = way

    @staticmethod
    def _rows(extent, work):
        """The rows to make in the order, or None for all."""
        count = max(1, extent * _WORK // max(1, work))
        return None if count >= extent else torch.linspace(0, extent - 1, count).long()

    def _product(self, func, args, a, b, bias=None):
        """(…, m, k) · (…, k, n); rows that are left out hold torch's own result."""
        rows = self._rows(a.shape[-2], a.numel() * b.shape[-1])
        if rows is not None:
            rows = rows.to(a.device)
            a = a.index_select(-2, rows)
        columns = a.transpose(-1, -2).contiguous()
        made = self.way(a.shape[-1], lambda: a.new_zeros(*a.shape[:-1], b.shape[-1]),
                        lambda total, i: total.addcmul_(columns[..., i, :, None], b[..., i, None, :]))
        if bias is not None:
            made.add_(bias if rows is None or bias.dim() < 2 or bias.shape[-2] == 1 else bias.index_select(-2, rows))
        return made if rows is None else func(*args).index_copy_(-2, rows, made)

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
        rows = self._rows(x.shape[0], out.numel() * weight[0].numel())
        if rows is not None:
            rows = rows.to(x.device)
            x = x.index_select(0, rows)
        pads = [p for size in reversed(padding) for p in (size, size)]
        taps = _Taps(torch.nn.functional.pad(x, pads), weight, out.shape[2:], stride, dilation, groups)
        made = self.way(taps.count, taps.zero, taps.add).reshape(x.shape[0], *out.shape[1:])
        if bias is not None:
            made.add_(bias.reshape(-1, *(1 for _ in out.shape[2:])))
        return made if rows is None else out.index_copy_(0, rows, made)


class _Taps:
    """A convolution as a sum over input channels and places of the kernel; `x` is already padded."""

    def __init__(self, x, weight, extents, stride, dilation, groups):
        self.x, self.weight = x.unflatten(1, (groups, -1)), weight.unflatten(0, (groups, -1))
        self.extents, self.stride, self.dilation = extents, stride, dilation
        self.places = list(itertools.product(*(range(size) for size in weight.shape[1:])))
        self.count = len(self.places)

    def zero(self):
        batch, groups = self.x.shape[:2]
        return self.x.new_zeros(batch, groups, self.weight.shape[1], *self.extents)

    def add(self, total, i):
        channel, *place = self.places[i]
        seen = self.x[:, :, channel]
        for d, (at, extent) in enumerate(zip(place, self.extents)):
            first, step = at * self.dilation[d], self.stride[d]
            seen = seen[(slice(None),) * (2 + d) + (slice(first, first + (extent - 1) * step + 1, step),)]
        factors = self.weight[(slice(None), slice(None), channel, *place)]
        total.addcmul_(seen.unsqueeze(2), factors.reshape(*factors.shape, *(1 for _ in place)))


def device_orders():
    """Maps names to sums, as `orders.honest_orders` takes them."""
    return {"sequential": DeviceSumsAndProducts(_sequential, 256, _scan_in_turn),
            "pairwise": DeviceSumsAndProducts(_pairwise, 1024, _scan_by_blocks),
            "lanes": DeviceSumsAndProducts(_lanes, 64, _scan_by_blocks)}
