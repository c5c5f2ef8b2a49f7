# SPDX-License-Identifier: Apache-2.0
# What a task computes: its operators, bytes and multiplications, and how long a device should take for them.
#
# The estimate chooses sizes. It uses nominal rates and never a clock, so that the same seed yields the same sizes.
import math
import typing

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from rates import NOMINAL, OPERATIONS, PEAKS, USUAL

MOST_BYTES = {"cpu": 1 << 28, "cuda": 1 << 33}  # of all tensors that one call makes


class Cost(typing.NamedTuple):
    """One call of a model."""

    operators: tuple  # names of aten operators, in order, without views
    bytes: int  # read and written by every operator
    flops: float
    products: float  # multiplications and additions of matrix products and convolutions
    random: str  # the first random operator, or empty


def _tensors(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _size(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def _is_view(func):
    return any(r.alias_info is not None and not r.alias_info.is_write for r in func._schema.returns)


def _is_random(func, args, kwargs):
    """Attention and recurrent layers are tagged random because of dropout, which is rarely in use."""
    if torch.Tag.nondeterministic_seeded not in func.tags:
        return False
    for at, argument in enumerate(func._schema.arguments):
        if argument.name in ("dropout_p", "dropout"):
            return (args[at] if at < len(args) else kwargs.get(argument.name, argument.default_value)) != 0
    return True


class Survey(TorchDispatchMode):
    """Counts the work of the operators that run under it; works on every device, also on meta."""

    def __init__(self):
        super().__init__()
        self.operators, self.bytes, self.flops, self.products, self.random = [], 0, 0.0, 0.0, ""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if not _is_view(func):
            self._count(func, args, kwargs, out)
        return out

    def _count(self, func, args, kwargs, out):
        name = func._schema.name.split("::")[1]
        self.operators.append(name)
        if not self.random and _is_random(func, args, kwargs):
            self.random = name
        tensors = [*_tensors(args), *_tensors([out])]
        self.bytes += _size(tensors)
        formula = flop_registry.get(func._overloadpacket)
        if formula is not None:
            done = float(formula(*args, **kwargs, out_val=out))
            self.products += done
        else:
            elements = max((t.numel() for t in tensors), default=0)
            done = elements * OPERATIONS.get(name, OPERATIONS.get(name.rstrip("_"), USUAL))
        self.flops += done

    def result(self):
        """The counts so far."""
        return Cost(tuple(self.operators), self.bytes, self.flops, self.products, self.random)


def estimate_ms(cost, device):
    """How long the call takes on a nominal device."""
    byte_rate, flop_rate, call_ms = NOMINAL[device]
    return cost.bytes / byte_rate + cost.flops / flop_rate + call_ms * len(cost.operators)


def roofline_ms(cost, essential_bytes, device):
    """The least time: each input, parameter and output moved once, or the products at the peak rate."""
    byte_rate, flop_rate = PEAKS[device]
    return max(essential_bytes / byte_rate, cost.products / flop_rate)


def nice(size):
    """The nearest size that is a power of two or three times one."""
    if size < 2:
        return 1
    power = 2 ** math.floor(math.log2(size))
    return min((power, power + power // 2, power * 2), key=lambda n: abs(math.log(n / size)))
