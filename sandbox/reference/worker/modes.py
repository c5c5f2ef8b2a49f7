# SPDX-License-Identifier: Apache-2.0
# Ways to run a task other than as written: in float64, perturbed, in lower precision, or subtly wrong.
import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

import operators as op

U = 2.0**-24  # half a unit in the last place of float32
# Amplitude of a perturbation in units of u: at least one unit in the last place of float32 after rounding.
AMPLITUDE = 3.0
# Half of what rounding to TF32's ten bits errs relatively. Where the rest is cut off instead, each factor is too small
# by as much at the mean: a product by twice that, all its elements alike. With these the bound is about twice what
# honest products err, and half of what those of bfloat16 do: with more evaluations it is never small by chance.
TF32 = 2.0**-12
TF32_SHARE = 4
# A row's one sum errs alike for all elements that read it, and neighbours do not tell. Its output's error is this much
# larger than its inputs', so that the two never cancel where one term is nearly all of the sum.
FOLD = 2.0
# Of float types: the largest relative error of rounding to them, and the largest absolute one near zero.
UNITS = {torch.float16: (2.0**-11, 2.0**-25), torch.bfloat16: (2.0**-8, 0.0)}
# Of a rounding to a half type, in its units: as far as two honest ones reach together, so that what an exponential
# makes of them is in the spread too.
NARROW_AMPLITUDE = 2.0
# What deviations count then: with the bound's constant about twice what honest kernels err at most, and a third of
# what bfloat16 does to a task of float16.
NARROW_WEIGHT = 0.2
# So near to what is honest, a spread that is small by chance would refuse it: more evaluations make that rare.
NARROW_SHARE = 8
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_MARK = "warpsmith_perturbed"  # attribute of a tensor: largest n that it was perturbed with


class Float64(TorchDispatchMode):
    """Casts and factories that name a lower precision give float64: nothing rounds on the way to the reference."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") in _FLOATS:
            kwargs["dtype"] = torch.float64
        return func(*args, **kwargs)


class Perturbed(TorchDispatchMode):
    """Every operator's inputs and output get a random relative error of up to 3 u sqrt(n), n its inner reduction.

    Where terms cancel inside an operator (`op.cancelled`) the error is relative to them.

    A stored tensor is perturbed once per amplitude: an elementwise operator reads what its producer's perturbation
    left, a reduction adds its own larger one (the shared part models one stored value with several readers).
    `shared`: threads share long sums, whose n is their chain's then. `tf32`: products may round their factors to it.
    """

    def __init__(self, noise, shared=False, tf32=False):
        super().__init__()
        self.noise, self.shared, self.tf32 = noise, shared, tf32

    def _terms(self, func, args, out):
        n = op.reduction_length(func, args, out)
        return op.chain(n) if self.shared and op.shared(func) else n

    def _amplitude(self, n):
        return AMPLITUDE * U * math.sqrt(n)

    def _read(self, value, n):
        if isinstance(value, (list, tuple)):
            return type(value)(self._read(v, n) for v in value)
        if op.is_complex(value):
            return self._complex(value.clone(), self._amplitude(n))
        if not op.is_float(value) or value.numel() == 0:
            return value
        if getattr(value, _MARK, 0) >= n:
            return value
        return self.noise.added(value, self._amplitude(n))

    def _complex(self, value, amplitude):
        """In place: both parts err by the size of the whole."""
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
        """What the operator reads."""
        read = [self._read(a, n) for a in args]
        for at in self._factors(func):
            if read[at].dtype == torch.float32:
                read[at] = self.noise.added(read[at], TF32)
        return read

    def _write_log(self, out, n):
        """What the sum errs, as said of `op.logs_a_sum`, and the logarithm's rounding."""
        self.noise.add(out, torch.ones_like(out), self._amplitude(n))
        self._write(out, 1)
        setattr(out, _MARK, n)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = op.name_of(func)
        if name in op.COMPOSED:
            return self._compose(func, args, kwargs)
        if op.is_view(func) or name in op.MOVES:
            out = func(*args, **kwargs)
            self._inherit(args, out)
            return out
        n, scale = self._terms(func, args, None), op.cancelled(func, args)
        if op.writes_input(func):
            out = func(*args, **kwargs)
        else:
            out = func(*self._operands(func, args, n), **kwargs)
            if n == 1:
                first = out if isinstance(out, torch.Tensor) else None
                n = self._terms(func, args, first)
        if op.logs_a_sum(func):
            self._write_log(out, n)
        else:
            self._write(out, n, FOLD if op.folds(func, args, out) else 1.0)
        if self._factors(func):
            out.mul_(1 + 2 * TF32 * self.noise.take(()))
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
    """Whether a task is of half types."""
    return any(t.dtype in UNITS for t in (*inputs, *parameters))


class Narrow(Perturbed):
    """Carries a float64 evaluation beside the task's own, perturbed by what rounding to the task's half types does.

    Each tensor has its wide twin. Whoever keeps float32 inside errs less than the halves' roundings; what the task
    itself has in float32 is perturbed as such.
    """

    def __init__(self, noise, shared=False):
        super().__init__(noise, shared)
        self.twins = WeakTensorKeyDictionary()

    def _amplitude(self, n):
        """What float32 errs keeps its weight."""
        return super()._amplitude(n) / NARROW_WEIGHT

    def twin(self, value):
        """What stands for `value`: of containers, in their order."""
        if isinstance(value, (list, tuple)):
            return type(value)(self.twin(v) for v in value)
        if not op.is_float(value):
            return value
        if value not in self.twins:
            self.twins[value] = value.double()
        return self.twins[value]

    def _perturb(self, value, wide, n):
        """What float32 errs inside the operator, then the rounding of its output."""
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
        """Copies round only where they change the type to a half."""
        if op.is_view(func) or op.name_of(func) in op.MOVES:
            return op.is_float(out) and out.dtype in UNITS and any(t.dtype != out.dtype for t in op.float_tensors(args))
        return True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if op.name_of(func) in op.COMPOSED:
            return self._compose(func, args, kwargs)
        twins = [self.twin(a) for a in args]
        if op.name_of(func).rstrip("_") in op.OF_NO_LESS_THAN_ZERO:
            twins[0] = twins[0] * (twins[0] * args[0] > 0)  # perturbed over zero, it has no root
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


class Rounded(TorchDispatchMode):
    """Every operator reads and writes a lower precision: bfloat16, or the ten bits of TF32.

    `hit` says whether there was anything of a higher one.
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


class Cut(TorchDispatchMode):
    """Every sum leaves out terms. `hit` says whether there was one."""

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


class Survey(TorchDispatchMode):
    """Counts operations and finds what makes a task unfit: random operators."""

    def __init__(self):
        super().__init__()
        self.flops = 0
        self.random = None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        from torch.utils.flop_counter import flop_registry

        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if op.is_random(func, args, kwargs):
            self.random = self.random or str(func)
        if func._overloadpacket in flop_registry:
            self.flops += int(flop_registry[func._overloadpacket](*args, **kwargs, out_val=out))
        elif not op.is_view(func) and op.name_of(func) not in op.MOVES:
            self.flops += max((t.numel() for t in op.float_tensors([out, *args])), default=0)
        return out
