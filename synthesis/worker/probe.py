# SPDX-License-Identifier: Apache-2.0
# Tries a seed on small real tensors: which ranks it accepts, and whether its values are fit for a task.
import contextlib
import dataclasses

import torch
import torch._dynamo  # what survey and deterministic mode need; loaded once here, not in each child
import torch._inductor.config  # noqa: F401
import torch.nn as nn
import torch.nn.functional as F

from assemble import Plan, Step, Unfit, assemble

_SHAPES = {1: (), 2: (16,), 3: (8, 16), 4: (8, 16, 16), 5: (4, 8, 8, 8)}
_LEADING, _FREE = 8, 12
CONSTANT = "the same for all inputs"
UNINITIALISED = "values that are no numbers"  # also those of memory that a constructor does not initialise


@contextlib.contextmanager
def _memory_without_numbers():
    """Fills uninitialised memory with NaN, so that values made from it are noticed."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def _program(plan):
    """A function that runs the plan on fresh tensors: the first value and the last."""
    writer, cost = assemble(plan, _LEADING)
    if cost.random:
        raise Unfit("random")
    names = {"torch": torch, "nn": nn, "F": F}
    for step in plan.steps:
        exec(step.seed.imports, names)

    def run(seed):
        torch.manual_seed(seed)
        holder = type("Self", (), {})
        with _memory_without_numbers():
            for line in writer.made:
                exec(line, names, {"self": holder})
        values = {name: eval(draw, names) for name, draw in zip(writer.arguments, writer.draws)}
        for at, line in enumerate(writer.body):
            exec(line, {**names, **values, "self": holder}, values)
        return values["x"], values[f"v{len(writer.body) - 1}"]

    return run


def _complaint(seed, rank):
    operands = tuple("input" if kind == "same" else kind.split()[0] for kind in seed.operands)
    plan = Plan((Step(seed, _FREE, operands),), _SHAPES[rank])
    try:
        run = _program(plan)
        with torch.no_grad():
            (x, a), (_, again), (_, other) = run(1), run(1), run(2)
    except (Unfit, Exception) as error:
        return str(error).split("\n")[0][:200] or type(error).__name__
    if not torch.isfinite(a).all():
        return UNINITIALISED
    if seed.family == "transformers" and torch.equal(a, x):  # dropout and scales that have no effect in a small block
        return "the input itself"
    if not torch.equal(a, again):
        return "not the same each time"
    return CONSTANT if torch.equal(a, other) else ""


def probed(seed):
    """The seed with the ranks on which it works, or None and the reason."""
    ranks = seed.ranks or (2,)
    complaints = {rank: _complaint(seed, rank) for rank in ranks}
    good = tuple(rank for rank in ranks if not complaints[rank])
    if not good:
        return None, next(iter(complaints.values()))
    return (dataclasses.replace(seed, ranks=good) if seed.ranks else seed), ""
