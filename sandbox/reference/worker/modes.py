# SPDX-License-Identifier: Apache-2.0
# Modified runs of a task: in float64, perturbed, in lower precision, or subtly wrong.
import math

import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

import operators as op
from places import storage_of

U = 2.0**-24  # half a unit in the last place of float32
# Amplitude of a perturbation in units of u: at least one unit in the last place of float32 after rounding.
AMPLITUDE = 3.0
# Tensor cores cut off the partial sums of a product instead of rounding them, so that their errors add up. These are
# the numbers of terms from which they exceed random errors: for terms of mixed signs, and of one sign. From there on
# they grow with the number instead of its root. docs/verdicts.md has the margins.
CUT_OFF_MIXED, CUT_OFF_ALIKE = 512, 1024
# Half of the relative error of rounding to TF32's ten bits. If bits are cut off instead, each factor is on average too
# small by the same amount, and a product by twice that, equally in all its elements. With these values the bound is
# about twice the error of honest products, and half of the error of bfloat16 ones; more evaluations keep it from being
# small by chance.
TF32 = 2.0**-12
TF32_SHARE = 4
# Near a kink, an honest product may be on the other side although no perturbed one is: its distance is up to
# KINK_REACH times theirs. The deviation there is this share of the step to the other side; the bound multiplies it
# by 8 or more.
KINK_REACH, KINK_SHARE = 8.0, 0.125
# All elements that read a row's single sum share its error, so comparing neighbours does not show it. The error of its
# output is this much larger than that of its inputs, so that the two never cancel where one term dominates the sum.
FOLD = 2.0
# For float types: the largest relative error of rounding to them, and the largest absolute one near zero.
UNITS = {torch.float16: (2.0**-11, 2.0**-25), torch.bfloat16: (2.0**-8, 0.0)}
# The amplitude of a rounding to a half type, in its units: the largest distance of two honest roundings, so that the
# spread covers their growth through an exponential.
NARROW_AMPLITUDE = 2.0
# The deviations of a running sum are random walks: neighbours cross zero together, so that few evaluations may all be
# small at one of 10^9 elements. More evaluations make that rare.
SCAN_SHARE = 4
# The weight of these deviations. With the bound's constant this is about twice the largest error of honest kernels, and
# a third of what bfloat16 does to a task of float16.
NARROW_WEIGHT = 0.2
# The bound is so close to honest errors that a spread that is small by chance would reject them; more evaluations make
# that rare.
NARROW_SHARE = 8
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_MARK = "warpsmith_perturbed"  # attribute of a tensor: the largest n that it was perturbed with


class DispatchMode(TorchDispatchMode):
    """The base of our modes, under which nothing compiled runs. Torch keeps Dynamo out of other modes: it imports
    Dynamo, which takes two seconds, and passes each call through it."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False


class Float64(DispatchMode):
    """Replaces lower precisions in casts and factories by float64, so that the reference is free of rounding."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") in _FLOATS:
            kwargs["dtype"] = torch.float64
        return func(*args, **kwargs)


class Perturbed(DispatchMode):
    """Gives every operator's inputs and output a random relative error of up to 3 u sqrt(n), n its inner reduction.

    Where terms cancel inside an operator (`op.cancelled`), the error is relative to them.

    A stored tensor is perturbed once per amplitude: an elementwise operator reads the result of its producer's
    perturbation, a reduction adds its own larger one (the shared part models one stored value with several readers).
    `shared`: threads share long sums, and n is the length of their chain. `tf32`: products may round factors to TF32.
    """

    def __init__(self, noise, shared=False, tf32=False):
        super().__init__()
        self.noise, self.shared, self.tf32 = noise, shared, tf32
        self.rounded = False  # whether a product read rounded factors
        self.scanned = False  # whether an operator made running sums

    def _terms(self, func, args, out):
        n = op.reduction_length(func, args, out)
        return op.chain(n) if self.shared and op.shared(func) else n

    def _amplitude(self, n):
        return AMPLITUDE * U * math.sqrt(n)

    def _read(self, value, n):
        if isinstance(value, (list, tuple)):
            return type(value)(self._read(v, n) for v in value)
        if not isinstance(value, torch.Tensor):
            return value
        if op.is_complex(value):
            return self._complex(value.clone(), self._amplitude(n))
        if not value.is_floating_point() or value.numel() == 0:
            return value
        if getattr(value, _MARK, 0) >= n:
            return value
        return self.noise.added(value, self._amplitude(n))

    def _complex(self, value, amplitude):
        """Works in place: both parts get an error relative to the whole."""
        parts = torch.view_as_real(value)
        self.noise.add(parts, value.abs()[..., None].expand(parts.shape).contiguous(), amplitude)
        return value

    def _write(self, value, n, times=1.0):
        if isinstance(value, (list, tuple)):
            for v in value:
                self._write(v, n, times)
        elif op.is_complex(value):
            self._complex(value, times * self._amplitude(n))
        elif op.is_float(value) and value.numel():
            self.noise.add(value, value, times * self._amplitude(n))
            setattr(value, _MARK, n)

    def _factors(self, func):
        return op.factors(func) if self.tf32 else ()

    def _operands(self, func, args, n):
        """The values that the operator reads."""
        if op.is_product(func):
            n *= 1 + n / CUT_OFF_MIXED
        read = [self._read(a, n) for a in args]
        for at in self._factors(func):
            if read[at].dtype == torch.float32:
                read[at] = self.noise.added(read[at], TF32)
        return read

    def _kink_step(self, func, args, kwargs):
        """What to add where the operator's kink is within the error of a TF32 product; None if nothing rounds so.

        That error is relative to the row, since the terms of a product cancel.
        """
        name = op.name_of(func).rstrip("_")
        if not self.rounded or name not in op.FLAT or not op.is_float(args[0]) or args[0].dim() == 0:
            return None
        value, plain = args[0], getattr(torch.ops.aten, name)
        reach = value.square().mean(-1, keepdim=True).sqrt_().mul_(KINK_REACH * TF32)
        here = plain(value, *args[1:], **kwargs)
        above, below = (plain(value + s * reach, *args[1:], **kwargs) for s in (1, -1))
        flat = (above == here) != (below == here)
        return torch.where(flat, (above - below) * KINK_SHARE, 0)

    def _write_log(self, out, n):
        """The error of the sum, explained at `op.logs_a_sum`, and the rounding of the logarithm."""
        self.noise.add(out, torch.ones_like(out), self._amplitude(n))
        self._write(out, 1)
        setattr(out, _MARK, n)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if op.name_of(func) in op.COMPOSED:
            return self._compose(func, args, kwargs)
        if op.moves(func):
            out = func(*args, **kwargs)
            self._inherit(args, out)
            return out
        self.scanned = self.scanned or op.scans(func)
        n, scale = self._terms(func, args, None), op.cancelled(func, args)
        step = self._kink_step(func, args, kwargs)
        if op.writes_input(func):
            out = func(*args, **kwargs)
        else:
            out = func(*self._operands(func, args, n), **kwargs)
            if n == 1 and not op.is_pointwise(func):
                first = out if isinstance(out, torch.Tensor) else None
                n = self._terms(func, args, first)
        if op.is_product(func):
            n *= max(1, n / CUT_OFF_ALIKE)
        if op.logs_a_sum(func):
            self._write_log(out, n)
        else:
            self._write(out, n, FOLD if n > 1 and op.folds(func, args, out) else 1.0)
        if self._factors(func):
            out.mul_(1 + 2 * TF32 * self.noise.take(()))
            self.rounded = True
        if step is not None:
            out.add_(step)
        if scale is not None:
            self.noise.add(op.first(out), scale, self._amplitude(1))
        op.keep_in_range(func, out)
        return out

    def _compose(self, func, args, kwargs):
        from torch._decomp import decomposition_table

        with self:
            return decomposition_table[func](*args, **kwargs)

    def _inherit(self, args, out):
        source = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if hasattr(source, _MARK) and isinstance(out, torch.Tensor):
            setattr(out, _MARK, getattr(source, _MARK))


def any_narrow(inputs, parameters):
    """Whether a task uses half types."""
    return any(t.dtype in UNITS for t in (*inputs, *parameters))


class Narrow(Perturbed):
    """Runs a float64 evaluation together with the task's own, perturbed as by rounding to the task's half types.

    Each tensor has a wide twin. Kernels that keep float32 inside have smaller errors than the roundings to half types;
    what the task itself computes in float32 is perturbed accordingly.
    """

    def __init__(self, noise, shared=False):
        super().__init__(noise, shared)
        self.twins = WeakTensorKeyDictionary()

    def _amplitude(self, n):
        """Keeps the weight of float32 errors at 1."""
        return super()._amplitude(n) / NARROW_WEIGHT

    def twin(self, value):
        """The twin of `value`; for a container, those of its items in order."""
        if isinstance(value, (list, tuple)):
            return type(value)(self.twin(v) for v in value)
        if not op.is_float(value):
            return value
        if value not in self.twins:
            self.twins[value] = value.double()
        return self.twins[value]

    def _perturb(self, value, wide, n):
        """Adds float32 errors inside the operator, then the rounding of its output."""
        if isinstance(value, (list, tuple)):
            for v, w in zip(value, wide):
                self._perturb(v, w, n)
        elif op.is_float(value) and value.numel():
            self.noise.add(wide, wide, self._amplitude(n))
            if value.dtype in UNITS:
                relative, absolute = UNITS[value.dtype]
                self.noise.add(wide, wide.abs().mul_(relative).add_(absolute), NARROW_AMPLITUDE)

    def _join(self, value, wide):
        if isinstance(value, (list, tuple)):
            for v, w in zip(value, wide):
                self._join(v, w)
        elif op.is_float(value):
            self.twins[value] = wide

    @staticmethod
    def _rounds(func, args, out):
        """Copies round only where they change the type to a half type."""
        if op.is_view(func) or op.name_of(func) in op.MOVES:
            return op.is_float(out) and out.dtype in UNITS and any(t.dtype != out.dtype for t in op.float_tensors(args))
        return True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if op.name_of(func) in op.COMPOSED:
            return self._compose(func, args, kwargs)
        twins = [self.twin(a) for a in args]
        if op.name_of(func).rstrip("_") in op.OF_NO_LESS_THAN_ZERO:
            twins[0] = twins[0] * (twins[0] * args[0] > 0)  # a perturbed 0 may be negative and then has no root
        wider = {k: torch.float64 if v in _FLOATS else self.twin(v) for k, v in kwargs.items()}
        scale = op.cancelled(func, twins)
        out = func(*args, **kwargs)
        wide = func(*twins, **wider)
        if self._rounds(func, args, out):
            first = out if isinstance(out, torch.Tensor) else None
            self._perturb(out, wide, self._terms(func, args, first))
            if scale is not None:
                self.noise.add(op.first(wide), scale, self._amplitude(1))
            op.keep_in_range(func, wide)
        self._join(out, wide)
        return out


class Rounded(DispatchMode):
    """Every operator reads and writes a lower precision: bfloat16, or the ten bits of TF32.

    `hit` is set if anything had a higher precision.
    """

    def __init__(self, precision):
        super().__init__()
        self.precision, self.hit = precision, False

    def _round(self, value):
        if isinstance(value, (list, tuple)):
            return type(value)(self._round(v) for v in value)
        halves = self.precision == "bf16" and op.is_float(value) and value.dtype == torch.float16
        if not op.is_float(value) or not (halves or value.dtype == torch.float32):
            return value
        self.hit = True
        if self.precision == "bf16":
            return value.bfloat16().to(value.dtype)
        bits = value.contiguous().view(torch.int32) + 0x1000
        return bits.bitwise_and_(~0x1FFF).view(torch.float32)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if op.is_view(func) or op.writes_input(func):
            return func(*args, **kwargs)
        return self._round(func(*(self._round(a) for a in args), **kwargs))


class Cut(DispatchMode):
    """Every sum omits terms. `hit` is set if there was a sum."""

    def __init__(self, keep):
        super().__init__()
        self.keep = keep
        self.hit = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not op.is_view(func) and not op.writes_input(func):
            cut = op.cut_reduction(func, args, self.keep)
            if cut is not None:
                self.hit, args = True, cut
        return func(*args, **kwargs)


class Lengths(DispatchMode):
    """Records in `found` how many terms each summing operator adds."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if op.sums_terms(func, args):
            self.found.append(op.reduction_length(func, args, op.first(out)))
        return out


class Survey(DispatchMode):
    """Counts operations, finds random operators, which make a task unfit, and records which tensors are read."""

    def __init__(self):
        super().__init__()
        self.flops = 0
        self.random = None
        self.selects = False  # whether an operator may choose among equal elements
        self.read = set()  # addresses of the tensors' memory

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        from torch.utils.flop_counter import flop_registry

        kwargs = kwargs or {}
        if not op.is_view(func):
            self.read.update(storage_of(t) for t in _pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor))
        out = func(*args, **kwargs)
        if op.is_random(func, args, kwargs):
            self.random = self.random or str(func)
        self.selects = self.selects or op.selects(func, args, kwargs)
        if func._overloadpacket in flop_registry:
            self.flops += int(flop_registry[func._overloadpacket](*args, **kwargs, out_val=out))
        elif not op.is_view(func) and op.name_of(func) not in op.MOVES:
            self.flops += max((t.numel() for t in op.float_tensors([out, *args])), default=0)
        return out
