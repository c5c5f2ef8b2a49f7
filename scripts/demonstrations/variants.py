# SPDX-License-Identifier: Apache-2.0
# Variants of one task: some of its statements in other orders, and other sizes. They show that a kernel
# follows from the statements; with only the tasks a small model memorises each.
import random
from dataclasses import replace
from itertools import permutations

from .operators import ROWS, part_of
from .task_file import Buffer, model_output

SIZES = (256, 320, 384, 512, 640, 768, 960, 1024, 1280, 1536, 2048)  # of rows and columns
MAX_ELEMENTS = 1 << 20


def orders(task):
    """Yields every order of every choice of steps. Heads and special views stay; a last tail may be dropped."""
    parts = [(s, part_of(s)) for s in task.statements]
    fixed = [s for s, p in parts if p.kind == "head" or p.dims != ROWS]
    tail = [s for s, p in parts if p.kind == "tail"]
    steps = [s for s, p in parts if p.kind == "step" and s not in fixed]
    for count in range(len(steps) + 1):
        for chosen in permutations(steps, count):
            for end in ([], tail) if tail else ([],):
                order = tuple(fixed + list(chosen) + end)
                if order and order != task.statements:
                    yield order


def class_text(task, statements, parameters):
    """(text of the class with other statements and only the parameters they use, names of its inputs)."""
    lines = []
    for line in task.class_text.splitlines():
        text = line.strip()
        if text.startswith("x = ") or text == "return x":
            continue
        name = text.removeprefix("self.").split(" ")[0] if text.startswith("self.") else ""
        if not name or name in parameters:
            lines.append(line)
    if not parameters and "__init__" in task.class_text:
        lines = [lines[0], lines[-1]]
    used = [n for n in task.input_names if n == "x" or mentions(statements, n)]
    lines[-1] = f"    def forward(self, {', '.join(used)}):"
    return "\n".join([*lines, *(f"        {s}" for s in statements), "        return x"]), used


def mentions(statements, name):
    return any(name in s.replace("(", " ").replace(")", " ").replace(",", " ").split(" ") for s in statements)


def variant(task, statements):
    parameters = [b.name for b in task.inputs if any(f"self.{b.name}" in s for s in statements)]
    text, used = class_text(task, statements, parameters)
    inputs = tuple(b for b in task.inputs if b.name in used or b.name in parameters)
    output = model_output(text, task, used)
    outputs = (Buffer("out", "y", "f32", tuple(output.shape)),)
    return replace(task, class_text=text, statements=statements, inputs=inputs, outputs=outputs)


def variants_of(task):
    return [variant(task, order) for order in orders(task)]


def resized(task, rng):
    """The task with other rows and columns; the task itself if its shapes contain other extents."""
    if len(task.extents) != 2:
        return task
    pairs = [(r, c) for r in SIZES for c in SIZES if r != c and MAX_ELEMENTS // 4 <= r * c <= MAX_ELEMENTS]
    to = dict(zip(task.extents, rng.choice(pairs), strict=True))

    def scaled(buffers):
        return tuple(replace(b, shape=tuple(to[d] for d in b.shape)) for b in buffers)

    return replace(task, inputs=scaled(task.inputs), outputs=scaled(task.outputs))


def is_plain(task):
    """True if the task has rows and columns only and no head: its statements fit any plain task."""
    parts = [part_of(s) for s in task.statements]
    return len(task.extents) == 2 and all(p.kind != "head" and p.dims == ROWS for p in parts)


def recombinations(tasks, apart=(), count=900):
    """Short chains of the plain tasks' statements, always the same ones for the same tasks.

    Each has at most one step along the row. `apart`: tasks whose statements no chain repeats, in any order.
    """
    rng = random.Random("recombinations/4")
    plain = [t for t in tasks if is_plain(t)]
    base = next((t for t in plain if {"x", "z", "w", "b"} <= {b.name for b in t.inputs}), None)
    if base is None:
        return []
    known = sorted({s for t in plain for s in t.statements})
    steps = [s for s in known if part_of(s).kind == "step"]
    tails = [s for s in known if part_of(s).kind == "tail"]
    chains = {}
    for _ in range(count):
        chain = rng.sample(steps, rng.choice((1, 2, 2, 3))) + ([rng.choice(tails)] if rng.random() < 0.25 else [])
        if sum(len(part_of(s).lines) > 1 for s in chain) <= 1:
            chains[tuple(chain)] = base
    return variants_apart(chains.items(), apart)


def variants_apart(chains, apart):
    """The task with the statements for each (statements, task), without those that equal a task of `apart`."""
    taken = {frozenset(task.statements) for task in apart}
    return [variant(task, chain) for chain, task in chains if frozenset(chain) not in taken]
