# SPDX-License-Identifier: Apache-2.0
# Honest float32: computes a task's sums in orders that a kernel may choose. The bound must accept all of them.
import math

import numpy as np
import torch

import operators as op
from modes import DispatchMode

_BLOCK = 64  # of a scan that carries the sums of its blocks
_LANES = 8
_MANY = 256  # sums at a time: from here on it is faster to add their products term by term than to gather these


# Each order in two forms, which return the same bits: of an array's last axis, and of `count` slices, term(i).
def _sequential(terms):
    return np.add.accumulate(terms, axis=-1, dtype=np.float32)[..., -1]


def _pairwise(terms):
    while terms.shape[-1] > 1:
        half = terms.shape[-1] // 2
        pairs = terms[..., :half] + terms[..., half:2 * half]
        terms = np.concatenate([pairs, terms[..., 2 * half:]], axis=-1)
    return terms[..., 0]


def _lanes(terms):
    whole = terms.shape[-1] // _LANES * _LANES
    if whole == 0:
        return _sequential(terms)
    lanes = terms[..., :whole].reshape(*terms.shape[:-1], -1, _LANES)
    sums = np.add.accumulate(lanes, axis=-2, dtype=np.float32)[..., -1, :]
    return _sequential(np.concatenate([sums, terms[..., whole:]], axis=-1))


def _sequential_slices(count, term):
    total = term(0).copy()
    for i in range(1, count):
        total += term(i)
    return total


def _pairwise_slices(count, term):
    half = count // 2
    parts = [term(i) + term(half + i) for i in range(half)] + [term(i) for i in range(2 * half, count)]
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [np.add(parts[i], parts[half + i], out=parts[i]) for i in range(half)] + parts[2 * half:]
    return parts[0]


def _lanes_slices(count, term):
    whole = count // _LANES * _LANES
    sums = [term(i).copy() for i in range(min(_LANES, whole))]
    for i in range(_LANES, whole):
        sums[i % _LANES] += term(i)
    sums += [term(i) for i in range(whole, count)]
    return _sequential_slices(len(sums), sums.__getitem__)


def _scan(terms):
    return np.add.accumulate(terms, axis=-1, dtype=np.float32)


def _scan_by_blocks(terms):
    if terms.shape[-1] % _BLOCK != 0:
        return _scan(terms)
    blocks = _scan(terms.reshape(*terms.shape[:-1], -1, _BLOCK))
    blocks[..., 1:, :] += _scan(blocks[..., -1])[..., :-1, None]
    return blocks.reshape(terms.shape)


class Sums:
    """Reductions of float32 tensors from `add` (sums the last axis) and `scan` (its running sums)."""

    def __init__(self, add, scan):
        self.add, self.scan = add, scan

    def replace(self, func, args):
        """The operator's result, or None if it is not such a reduction."""
        make = getattr(self, "_op_" + op.name_of(func), None)
        types = {t.dtype for t in op.tensors(args)}
        return None if make is None or op.writes_input(func) or types != {torch.float32} else make(func, args)

    def _sum(self, x, dims):
        """Sums over `dims`, which stay with extent 1."""
        kept = [d for d in range(x.dim()) if d not in dims]
        terms = x.permute(*kept, *dims).reshape(*(x.shape[d] for d in kept), -1).numpy()
        shape = [1 if d in dims else x.shape[d] for d in range(x.dim())]
        return torch.from_numpy(np.ascontiguousarray(self.add(terms))).reshape(shape)

    def _reduced(self, func, args, value):
        """`value` has extent 1 along the reduced axes; drops them if the call says so."""
        keep = next((a for a in args[2:] if isinstance(a, bool)), False)
        dims = op.reduced_dims(func, args)
        return value if keep else value.reshape([s for d, s in enumerate(value.shape) if d not in dims])

    def _op_sum(self, func, args):
        return self._reduced(func, args, self._sum(args[0], op.reduced_dims(func, args)))

    def _op_mean(self, func, args):
        dims = op.reduced_dims(func, args)
        count = math.prod(args[0].shape[d] for d in dims)
        return self._reduced(func, args, self._sum(args[0], dims) / count)

    def _op_linalg_vector_norm(self, func, args):
        if len(args) > 1 and args[1] != 2:
            return None
        return self._reduced(func, args, self._sum(args[0] * args[0], op.reduced_dims(func, args)).sqrt())

    def _exponentials(self, x, dims):
        top = x.amax(dims, keepdim=True)
        terms = (x - top).exp_()
        return top, terms, self._sum(terms, dims)

    def _op__softmax(self, func, args):
        _, terms, total = self._exponentials(args[0], op.reduced_dims(func, args))
        return terms / total

    def _op__log_softmax(self, func, args):
        top, _, total = self._exponentials(args[0], op.reduced_dims(func, args))
        return args[0] - top - total.log()

    def _op_logsumexp(self, func, args):
        top, _, total = self._exponentials(args[0], op.reduced_dims(func, args))
        return self._reduced(func, args, top + total.log())

    def _normalized(self, x, dims, epsilon):
        count = math.prod(x.shape[d] for d in dims)
        mean = self._sum(x, dims) / count
        centred = x - mean
        scale = (self._sum(centred * centred, dims) / count + epsilon).rsqrt()
        return centred * scale, mean, scale

    def _op_native_layer_norm(self, func, args):
        x, shape, weight, bias, epsilon = args[:5]
        y, mean, scale = self._normalized(x, list(range(x.dim() - len(shape), x.dim())), epsilon)
        y = y if weight is None else y * weight
        return (y if bias is None else y + bias), mean, scale

    def _op_native_group_norm(self, func, args):
        x, weight, bias, groups, epsilon = args[0], args[1], args[2], args[6], args[7]
        grouped = x.reshape(x.shape[0], groups, -1)
        y, mean, scale = self._normalized(grouped, [2], epsilon)
        y, per_channel = y.reshape(x.shape), [1, -1] + [1] * (x.dim() - 2)
        y = y if weight is None else y * weight.reshape(per_channel)
        return (y if bias is None else y + bias.reshape(per_channel)), mean.squeeze(-1), scale.squeeze(-1)

    def _op_cumsum(self, func, args):
        sums = self.scan(args[0].movedim(args[1], -1).numpy())
        return torch.from_numpy(np.ascontiguousarray(sums)).movedim(-1, args[1])


class SumsAndProducts(Sums):
    """Adds matrix products and convolutions. `slices`: the same order as `add`, of slices of terms."""

    def __init__(self, add, slices, scan):
        super().__init__(add, scan)
        self.slices = slices

    def _added(self, factors, axis):
        """The sums of the products of two tensors, which broadcast, along an axis."""
        a, b = (np.moveaxis(f.numpy(), axis, 0) for f in factors)
        if math.prod(np.broadcast_shapes(a.shape, b.shape)[1:]) < _MANY:
            return torch.from_numpy(np.ascontiguousarray(self.add(np.moveaxis(a * b, 0, -1))))
        return torch.from_numpy(self.slices(len(a), lambda i: a[i] * b[i]))

    def _product(self, a, b):
        """(…, m, k) · (…, k, n), 16 Mi products at a time."""
        rows = max(1, 2**24 // max(1, b.numel()))
        parts = [self._added((a[..., first:first + rows, :, None], b[..., None, :, :]), -2)
                 for first in range(0, a.shape[-2], rows)]
        return torch.cat(parts, -2)

    def _op_mm(self, func, args):
        return self._product(args[0], args[1])

    _op_bmm = _op_mm

    def _op_addmm(self, func, args):
        return self._product(args[1], args[2]) + args[0] if len(args) == 3 else None

    def _op_convolution(self, func, args):
        x, weight, bias, stride, padding, dilation, transposed, _, groups = args
        if transposed or x.dim() != 4:
            return None
        taps = torch.nn.functional.unfold(x, weight.shape[2:], dilation, padding, stride)
        taps = taps.reshape(x.shape[0], groups, -1, 1, taps.shape[-1])
        kernels = weight.reshape(groups, -1, taps.shape[2]).transpose(-1, -2)[None, ..., None]
        y = self._added((taps, kernels), 2).reshape(x.shape[0], weight.shape[0], -1)
        y = y if bias is None else y + bias[None, :, None]
        return y.reshape(*y.shape[:2], *self._extents(x, weight, stride, padding, dilation))

    @staticmethod
    def _extents(x, weight, stride, padding, dilation):
        return [(x.shape[2 + i] + 2 * padding[i] - dilation[i] * (weight.shape[2 + i] - 1) - 1) // stride[i] + 1
                for i in range(2)]


class Ordered(DispatchMode):
    """All other operators are torch's own."""

    def __init__(self, sums):
        super().__init__()
        self.sums = sums

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        # A keyword argument (addmm's beta, sum's dtype) changes the meaning of the operator.
        out = None if kwargs else self.sums.replace(func, args)
        return func(*args, **(kwargs or {})) if out is None else out


HONEST = {"sequential": (_sequential, _sequential_slices, _scan),
          "pairwise": (_pairwise, _pairwise_slices, _scan_by_blocks),
          "lanes": (_lanes, _lanes_slices, _scan_by_blocks)}


def honest_orders(ways=None):
    """Maps names to functions that return outputs. `ways` replaces the CPU's sums: the same names, each with `Sums`."""
    ways = ways or {name: SumsAndProducts(*way) for name, way in HONEST.items()}

    def make(sums):
        return lambda task, inputs, parameters: task.run_in(Ordered(sums), inputs, parameters)

    return {name: make(sums) for name, sums in ways.items()}
