# SPDX-License-Identifier: Apache-2.0
# Wrong answers that a sound judge must reject: material for the mutation gate.
import torch

import chunks
import modes
import operators as op


def _zeros(task, inputs, parameters, right):
    return [torch.zeros_like(r) for r in right()]


def _mean(task, inputs, parameters, right):
    if not _has_several(task):
        return _another(task, parameters)
    return [torch.full_like(r, chunks.mean(r)) if r.is_floating_point() else torch.zeros_like(r) for r in right()]


def _has_several(task):
    """Whether an output has more than one element."""
    return any(out.numel() > 1 for out in task.outputs)


def _another(task, parameters):
    """The outputs for other inputs; the mean of a single number would be right."""
    values = task.draw(3)
    return task.run_in(None, [values[at] for at in task.tensor_at], parameters)


def _identity(task, inputs, parameters, right):
    outs, hit = [], False
    for r in right():
        twin = next((x for x in inputs if x.shape == r.shape and x.dtype == r.dtype), None)
        hit = hit or twin is not None
        outs.append(r if twin is None else twin.clone())
    return outs if hit else None


def _first_row(task, inputs, parameters, right):
    right = right()
    if not any(r.dim() > 0 and r.shape[0] > 1 for r in right):
        return None
    return [r[:1].expand(r.shape).contiguous() if r.dim() > 0 else r for r in right]


def _tail(task, inputs, parameters, right):
    """The last element was not computed: it has its neighbour's value, or another one if the two are equal."""
    if not _has_several(task):
        return None
    outs = [r.contiguous() for r in right()]
    for out in outs:
        if out.numel() > 1:
            neighbour, last = out.view(-1)[-2:].clone()
            out.view(-1)[-1] = neighbour if neighbour != last else (last == 0)
    return outs


def _rounded(precision):
    def make(task, inputs, parameters, right):
        if precision == "bf16" and any(t.dtype == torch.bfloat16 for t in (*inputs, *parameters)):
            return None  # the task already uses this precision
        mode = modes.Rounded(precision)
        outs = task.run_in(mode, inputs, parameters)
        # The lower precision may represent every value that decides the outputs, for example signs and counts.
        return outs if mode.hit and not all(chunks.equal(a, b) for a, b in zip(outs, right())) else None

    return make


def _cut(keep):
    def make(task, inputs, parameters, right):
        mode = modes.Cut(keep)
        outs = task.run_in(mode, inputs, parameters)
        return outs if mode.hit else None

    return make


class _Without:
    """A parameter is left out: its value is neutral."""

    def __init__(self, index, value):
        self.index, self.value = index, value

    def __call__(self, task, inputs, parameters, right):
        return task.run_in(None, inputs, self.changed(parameters))

    def changed(self, parameters):
        changed = list(parameters)
        changed[self.index] = torch.full_like(parameters[self.index], self.value)
        return changed


# Float64 results that differ by less than this share of the values' size differ by float64's own rounding, which an
# operator like a norm may amplify. Float32 has no use for the difference.
_ROUNDING = 2.0**-30


def has_effect(maker, task, inputs, parameters, exact):
    """Whether the mutant's exact result differs from the right one, `exact`, on these inputs.

    A bias in front of a norm has no effect, and neither has a layer that forward never uses.
    """
    if not isinstance(maker, _Without):
        return True
    for rows, outs in task.references(inputs, maker.changed(parameters)):
        for right, out in zip(exact, outs):
            if any(bool(((o - r).abs() > _ROUNDING * (r.abs() + r.abs().mean())).any())
                   for r, o in chunks.chunks(right[rows], out.double())):
                return True
    return False


def mutants_of(task):
    """Maps names to functions that return wrong outputs, or None if they do not apply.

    `right()` returns the right outputs, which a function may change.
    """
    made = {
        "zeros": _zeros, "constant_mean": _mean, "identity": _identity, "first_row": _first_row,
        "bf16": _rounded("bf16"), "half_reduction": _cut(lambda n: (n + 1) // 2),
        "short_reduction": _cut(lambda n: n - 1), "off_by_one_tail": _tail,
    }
    for index, (name, tensor) in enumerate(task.named):
        if op.is_float(tensor):
            neutral = 1.0 if tensor.numel() and bool((tensor == 1).all()) else 0.0
            made[f"dropped_{name}"] = _Without(index, neutral)
    return made


def lower_precisions():
    """Honest computations in lower precision, which the bound rejects only where enough terms meet."""
    return {"tf32": _rounded("tf32")}
