# SPDX-License-Identifier: Apache-2.0
# Ways to run a task other than as written: in float64, perturbed, in lower precision, or subtly wrong.
import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import operators as op

U = 2.0**-24  # half a unit in the last place of float32
# Amplitude of a perturbation in units of u: at least one unit in the last place of float32 after rounding.
AMPLITUDE = 3.0
_MARK = "warpsmith_perturbed"  # attribute of a tensor: largest n that it was perturbed with


class Float64(TorchDispatchMode):
    """Casts and factories that name a lower precision give float64: nothing rounds on the way to the reference."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") in (torch.float32, torch.float16, torch.bfloat16):
            kwargs["dtype"] = torch.float64
        return func(*args, **kwargs)


class Noise:
    """Signs times magnitudes in [1/2, 1]: never near zero, so that no element's deviation vanishes by one draw."""

    def __init__(self, elements):
        generator = torch.Generator().manual_seed(20260)
        self.size = elements
        span = 2 * elements + 4099
        signs = torch.randint(0, 2, (span,), generator=generator, dtype=torch.float32) * 2 - 1
        self.bank = signs * (0.5 + 0.5 * torch.rand(span, generator=generator))
        self.generator = generator

    def take(self, shape):
        count = math.prod(shape)
        if count > self.size:
            wanted = -(-count // self.bank.numel())
            return self.bank.repeat(wanted)[:count].view(shape)
        start = int(torch.randint(0, self.bank.numel() - count + 1, (1,), generator=self.generator))
        return self.bank[start:start + count].view(shape)


_noise = None  # one bank for all tasks, as large as the largest asked for


def noise_for(elements):
    global _noise
    elements = max(elements, 2**20)  # intermediates may be larger than what a signature names
    if _noise is None or _noise.size < elements:
        _noise = Noise(elements)
    return _noise


class Perturbed(TorchDispatchMode):
    """Every operator's inputs and output get a random relative error of up to 3 u sqrt(n), n its inner reduction.

    Where terms cancel inside an operator (`op.cancelled`) the error is relative to them.

    A stored tensor is perturbed once per amplitude: an elementwise operator reads what its producer's perturbation
    left, a reduction adds its own larger one (the shared part models one stored value with several readers).
    """

    def __init__(self, noise):
        super().__init__()
        self.noise = noise

    def _amplitude(self, n):
        return AMPLITUDE * U * math.sqrt(n)

    def _read(self, value, n):
        if isinstance(value, (list, tuple)):
            return type(value)(self._read(v, n) for v in value)
        if not op.is_float(value) or value.numel() == 0:
            return value
        if getattr(value, _MARK, 0) >= n:
            return value
        return torch.addcmul(value, value, self.noise.take(value.shape), value=self._amplitude(n))

    def _write(self, value, n):
        if isinstance(value, (list, tuple)):
            for v in value:
                self._write(v, n)
        elif op.is_float(value) and value.numel():
            value.addcmul_(value, self.noise.take(value.shape), value=self._amplitude(n))
            setattr(value, _MARK, n)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = op.name_of(func)
        if op.is_view(func) or name in op.MOVES:
            out = func(*args, **kwargs)
            self._inherit(args, out)
            return out
        n = op.reduction_length(func, args, None)
        if op.writes_input(func):
            out = func(*args, **kwargs)
        else:
            out = func(*(self._read(a, n) for a in args), **kwargs)
            if n == 1:
                first = out if isinstance(out, torch.Tensor) else None
                n = op.reduction_length(func, args, first)
        self._write(out, n)
        scale = op.cancelled(func, args)
        if scale is not None:
            out.addcmul_(scale, self.noise.take(out.shape), value=self._amplitude(1))
        return out

    def _inherit(self, args, out):
        source = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if hasattr(source, _MARK) and isinstance(out, torch.Tensor):
            setattr(out, _MARK, getattr(source, _MARK))


class Rounded(TorchDispatchMode):
    """Every operator reads and writes a lower precision: bfloat16, or the ten bits of TF32."""

    def __init__(self, precision):
        super().__init__()
        self.precision = precision

    def _round(self, value):
        if isinstance(value, (list, tuple)):
            return type(value)(self._round(v) for v in value)
        if not op.is_float(value) or value.dtype != torch.float32:
            return value
        if self.precision == "bf16":
            return value.bfloat16().float()
        bits = value.contiguous().view(torch.int32)
        return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)

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
        if op.is_random(func):
            self.random = self.random or str(func)
        if func._overloadpacket in flop_registry:
            self.flops += int(flop_registry[func._overloadpacket](*args, **kwargs, out_val=out))
        elif not op.is_view(func) and op.name_of(func) not in op.MOVES:
            self.flops += max((t.numel() for t in op.float_tensors([out, *args])), default=0)
        return out
