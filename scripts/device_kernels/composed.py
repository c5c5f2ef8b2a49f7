# SPDX-License-Identifier: Apache-2.0
# Tasks over rows that are composed of the training tasks' statements. They show that a kernel follows from its
# statements: with only some twenty tasks a model memorises each and writes no kernel for another one.
import re
import tempfile
from pathlib import Path

from demonstrations.task_file import read_task

from .parts import Each, Reduce, RowValue, Scan, steps_of

ROWS = (1024, 2048, 3072, 4096, 5120, 6144, 8192)
COLUMNS = (1024, 1536, 2048, 2560, 3072, 3584, 4096, 5120, 6144)
MAX_ELEMENTS = 1 << 25
CASTS = {"": 0.8, ".half()": 0.1, ".bfloat16()": 0.1}

TEXT = """\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
{init}    def forward(self, {names}):
{body}
        return x


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return [{columns}]
"""
INIT = """\
    def __init__(self, c):
        super().__init__()
{parameters}
"""
DRAWS = {"m": "torch.rand({r}, {c}) < 0.25", "t": "torch.randint(0, {c}, ({r},))"}
PARAMETERS = {"w": "torch.rand(c) + 0.5", "b": "torch.rand(c) - 0.5"}


def kind_of(statement):
    """What may follow: anything after "each" (elementwise) and "row" (needs sums of the row), nothing after "last"."""
    steps = steps_of(statement)
    if all(isinstance(s, Each) for s in steps):
        return "each"
    ends = isinstance(steps[-1], (Reduce, RowValue, Scan))
    return "last" if ends else "row"


def statements_by_kind(tasks):
    """The statements of the form `x = …` that rows allow and that need no other statement."""
    found = {"each": [], "row": [], "last": []}
    for statement in sorted({s for t in tasks for s in t.statements}):
        try:
            kind = kind_of(statement)
        except ValueError:
            continue
        if statement.startswith("x = ") and not re.fullmatch(r"x = x / [a-z]\w*", statement):
            found[kind].append(statement)
    return found


def chain(kinds, rng):
    """One to four statements, in an order that a kernel over rows can follow."""
    before = rng.sample(kinds["each"], rng.choice((0, 1, 1, 2)))
    middle = [rng.choice(kinds["row"])] if rng.random() < 0.45 else []
    if middle and rng.random() < 0.4:
        return (*before, *middle, rng.choice([s for s in kinds["each"] if s not in before]))
    if not middle and rng.random() < 0.6:
        return (*before, rng.choice(kinds["last"]))
    return (*before, *middle) or (rng.choice(kinds["each"]),)


def names_of(statements, pattern, known):
    """The names in the statements, in the order of first use."""
    return [n for n in dict.fromkeys(re.findall(pattern, " ".join(statements))) if n in known]


def task_text(statements, rng):
    """A task file's text."""
    rows = rng.choice(ROWS)
    columns = rng.choice([c for c in COLUMNS if c != rows and c * rows <= MAX_ELEMENTS])
    cast = rng.choices(list(CASTS), list(CASTS.values()))[0]
    names = ["x", *names_of(statements, r"(?<![\w.])([a-z])\b", "gzmt")]
    held = sorted(names_of(statements, r"self\.(\w+)", PARAMETERS), key=list(PARAMETERS).index)
    draw = "({}){}".format if cast else "{}".format
    parameters = "\n".join(f"        self.{n} = nn.Parameter({draw(PARAMETERS[n], cast)})" for n in held)
    draws = [DRAWS.get(n, "torch.randn({r}, {c})" + cast).format(r=rows, c=columns) for n in names]
    return TEXT.format(init=INIT.format(parameters=parameters) if held else "", names=", ".join(names),
                       body="\n".join(f"        {s}" for s in statements), inputs=", ".join(draws),
                       columns=columns if held else "")


def composed(tasks, apart, rng, count):
    """`count` tasks. None has the statements of a task of `apart`, in any order. ValueError for too few statements."""
    kinds, taken, made = statements_by_kind(tasks), {frozenset(t.statements) for t in apart}, []
    for kind, least in (("each", 3), ("row", 1), ("last", 1)):
        if count and len(kinds[kind]) < least:
            raise ValueError(f"expected {least} statements or more of kind {kind!r} in the tasks to compose from, "
                             f"found {len(kinds[kind])}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "composed.py"
        while len(made) < count:
            statements = chain(kinds, rng)
            if frozenset(statements) in taken:
                continue
            path.write_text(task_text(statements, rng), encoding="utf-8")
            made.append(read_task(path))
    return made
