# SPDX-License-Identifier: Apache-2.0
# Variants of tasks whose first statement makes the row (products, convolutions, pooling): other sizes,
# and other elementwise statements after it.
import ast
import math
import random
from dataclasses import replace

from .operators import ROWS, Loop, part_of
from .task_file import module_of, signature
from .variants import MAX_ELEMENTS, variants_apart

SCALES = (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3)
MAX_ROW = 4096  # floats of the row buffer that kernels declare
TRIES = 200


def headed(task, known, apart=(), count=96):
    """The task's head in other sizes, followed by its own or other statements that need no parameters.

    Empty for tasks without a head, or whose tail reads the head's view. `known`: statements of all
    training tasks; `apart` as for `recombinations`.
    """
    parts = [part_of(s) for s in task.statements]
    if parts[0].kind != "head" or parts[-1].kind == "tail":
        return []
    rng = random.Random(f"heads/1/{task.id}")
    steps = [s for s in known if is_bare(s)]
    return variants_apart([(chain(task, steps, rng), resized_module(task, rng)) for _ in range(count)], apart)


def chain(task, steps, rng):
    if rng.random() < 0.25:
        return task.statements
    head, *own = task.statements
    own = [s for s in own if "self." in s and rng.random() < 0.7]
    return (head, *own, *rng.sample(steps, rng.choice((1, 1, 2, 3))))


def is_bare(statement):
    """True for one elementwise line over rows and columns that has no operand."""
    part = part_of(statement)
    plain = part.kind == "step" and len(part.lines) == 1 and part.dims == ROWS
    return plain and isinstance(part.lines[0], Loop) and "[r * C" not in part.lines[0].body and "self." not in statement


def constants(task):
    """The module's sizes by name, from lines like "R, D, C = 4096, 32, 128"."""
    found = {}
    for node in ast.parse(task.path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            names = [n.id for n in node.targets[0].elts]
            found.update(zip(names, ast.literal_eval(node.value), strict=True))
    return found


def scaled(extent, rng):
    """A random multiple that keeps factors of two up to 8: pooling halves extents, products step by four."""
    step = math.gcd(extent, 8)
    return max(1, round(extent * rng.choice(SCALES) / step)) * step


def resized_module(task, rng):
    """The task with other sizes for which its kernels are still correct; the task itself if none was found."""
    for _ in range(TRIES):
        sizes = tuple((name, scaled(extent, rng)) for name, extent in constants(task).items())
        made = with_sizes(task, sizes)
        if made and is_sound(made, task):
            return made
    return task


def with_sizes(task, sizes):
    other = replace(task, sizes=sizes)
    if math.prod(extent for _, extent in sizes) > 4 * MAX_ELEMENTS:
        return None
    inputs, outputs = signature(module_of(task.class_text, other, task.input_names), task.input_names)
    return replace(other, inputs=inputs, outputs=outputs)


def is_sound(made, task):
    """True if it is as small as the tasks and shows no two axes with the same extent."""
    buffers = made.inputs + made.outputs
    small = all(math.prod(b.shape) <= MAX_ELEMENTS and b.shape[-1] <= MAX_ROW for b in buffers)
    return small and len(made.extents) == len(task.extents) and math.prod(made.outputs[0].shape) >= MAX_ELEMENTS // 16
