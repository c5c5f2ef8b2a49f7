# SPDX-License-Identifier: Apache-2.0
# A task's signature from shapes only, for tensors that are too large to create.
import torch

import operators as op
import signatures
from device import LANES, Cpu
from model_parts import as_outputs, tensors_of
from modes import DispatchMode
from refusals import Refused, place
from task import Task


class _Nowhere(Cpu):
    """Tensors have shapes and types but no memory."""

    place = torch.device("meta")


class _Statistics(DispatchMode):
    """Finds the statistics that batch norms change in training without changing their version."""

    def __init__(self):
        super().__init__()
        self.changed = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if "batch_norm" in op.name_of(func) and any(a is True for a in args):
            self.changed |= {id(a) for a in args[3:5] if isinstance(a, torch.Tensor)}
        return func(*args, **(kwargs or {}))


class Outline(Task):
    """The part of `Task` that needs no values: its signature has no summaries, and nothing can run."""

    def __init__(self, code):
        self.device, self.lane, self.makes_on_device = _Nowhere(), LANES[0], True
        self.module = self._read(code)
        self.model = self._build(self.module)
        self._draw_sample()
        self._look()
        self.named = self._named(self.model)

    def _look(self):
        state = tensors_of(self.model)
        before = {n: t._version for n, t in state.items()}
        statistics = _Statistics()
        with place("forward"), torch.no_grad(), self.device.place, statistics:
            self.outputs = as_outputs(self.model(*self.given.filled(self.sample)))
        self.private = {n for n, t in state.items() if t._version != before[n] or id(t) in statistics.changed}

    def tensors(self):
        return signatures.tensors(self, signatures.entry)


def size(code):
    """Bytes of the tensors of a task's signature; 0 if it depends on values."""
    try:
        return sum(t["elements"] * signatures.BYTES[t["dtype"]] for t in Outline(code).tensors())
    except Refused:
        return 0


def beyond(code, most):
    """The signature of a task with more than `most` elements; None for others, and if it depends on values."""
    try:
        tensors = Outline(code).tensors()
    except Refused:
        return None
    return tensors if sum(t["elements"] for t in tensors) > most else None
