# SPDX-License-Identifier: Apache-2.0
# Writes a plan (seeds and choices) as a task's text; shapes are propagated on meta tensors, so nothing is computed.
import dataclasses

import torch
import torch.nn as nn
import torch.nn.functional as F

from cost import Survey
from seeds import DOMAINS

_NAMES = {"torch": torch, "nn": nn, "F": F}


class Unfit(Exception):
    """The plan has no valid program."""


@dataclasses.dataclass(frozen=True)
class Step:
    """A seed with the choices made for it."""

    seed: object
    free: int  # the size {o}
    operands: tuple  # for each: "input", "param" or the number of an earlier value


@dataclasses.dataclass(frozen=True)
class Plan:
    """A program without its leading size."""

    steps: tuple
    tail: tuple  # sizes of the first value after the leading one


class _Writer:
    """Collects the text of a model while its values are propagated."""

    def __init__(self, plan):
        self.names = dict(_NAMES)
        for step in plan.steps:
            exec(step.seed.imports, self.names)
        self.made, self.body, self.arguments, self.draws = [], [], [], []
        self.values, self.inputs, self.modules = [], {}, {}

    def evaluate(self, expression, names=None):
        try:
            with torch.device("meta"):
                return eval(expression, {**self.names, **(names or {})})
        except Exception as error:  # torch raises many types for sizes that do not fit
            raise Unfit(f"{expression}: {error}") from None

    def input(self, expression):
        name = f"x{len(self.arguments)}" if self.arguments else "x"
        self.arguments.append(name)
        self.draws.append(expression)
        self.inputs[name] = self.evaluate(expression)
        return name

    def parameter(self, expression):
        name = f"self.p{sum('Parameter' in line for line in self.made)}"
        self.made.append(f"{name} = nn.Parameter({expression})")
        self.modules[name[5:]] = self.evaluate(expression)
        return name

    def module(self, expression):
        name = f"self.m{len(self.modules)}"
        self.made.append(f"{name} = {expression}")
        self.modules[name[5:]] = self.evaluate(expression)
        return name


def _divisor(size):
    return next(d for d in (8, 4, 3, 2, 1) if size % d == 0)


def sizes(shape, free):
    """The sizes that templates name."""
    shape = tuple(shape)
    return {"b": shape[0] if shape else 1, "c": shape[1] if len(shape) > 1 else shape[0] if shape else 1,
            "n": shape[-1] if shape else 1, "s": f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})",
            "tail": f"({', '.join(map(str, shape[1:]))}{',' if len(shape) == 2 else ''})", "o": free,
            "g": _divisor(shape[1]) if len(shape) > 1 else 1}


def _operand(writer, kind, chosen, known):
    source, _, expression = kind.partition(" ")
    if source == "same":
        if isinstance(chosen, int):
            return f"v{chosen}"
        expression = "torch.randn{tail}" if chosen == "param" else "torch.randn{s}"
    expression = expression.format(**known)
    if chosen == "param" or source == "param":
        return writer.parameter(expression)
    return writer.input(expression)


def _write_step(writer, step, x, shape):
    seed, known = step.seed, sizes(shape, step.free)
    names = {"x": x}
    if seed.module:
        names["m"] = writer.module(seed.module.format(**known))
        if seed.init:
            writer.made.append(seed.init.format(m=names["m"]))
    for name, kind, chosen in zip("yz", seed.operands, step.operands):
        names[name] = _operand(writer, kind, chosen, known)
    return seed.call.format(**known, **names)


def _run_step(writer, call, survey):
    holder = type("Self", (), writer.modules)
    earlier = {f"v{i}": v for i, v in enumerate(writer.values)}
    with survey, torch.no_grad():
        value = writer.evaluate(call, {**writer.inputs, **earlier, "self": holder})
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.numel() == 0:
        raise Unfit(f"{call}: no tensor of floating point numbers")
    return value


def first_shape(plan, leading):
    """The sizes of the first value."""
    return (leading, *plan.tail)


def assemble(plan, leading):
    """The program of a plan: a _Writer whose body has one line for each step, and its cost."""
    writer = _Writer(plan)
    shape = first_shape(plan, leading)
    seed = plan.steps[0].seed
    draw = (seed.first or DOMAINS[seed.domain]).format(**sizes(shape, plan.steps[0].free))
    x = writer.input(draw)
    shape = writer.inputs[x].shape
    survey = Survey()
    for step in plan.steps:
        call = _write_step(writer, step, x, shape)
        value = _run_step(writer, call, survey)
        x, shape = f"v{len(writer.values)}", value.shape
        writer.values.append(value)
        writer.body.append(f"{x} = {call}")
    return writer, survey.result()


_TEXT = '''{imports}{device}

class Model(nn.Module):
    """{title}"""

    def __init__(self):
        super().__init__()
{made}
    def forward(self, {arguments}):
{body}        return v{last}


def get_inputs():
    return [{draws}]


def get_init_inputs():
    return []
'''


def text_of(plan, writer, device):
    """The task's file."""
    needs_f = any("F." in line for line in writer.body)
    imports = "import torch\nimport torch.nn as nn\n" + ("import torch.nn.functional as F\n" if needs_f else "")
    imports += "".join(step.seed.imports for step in plan.steps)
    lines = [f"        {line}\n" for line in writer.body]
    return _TEXT.format(
        imports=imports, device='\nDEVICE = "cuda"\n' if device == "cuda" else "",
        title=", then ".join(step.seed.name.removeprefix("torch.") for step in plan.steps) + ".",
        made="".join(f"        {line}\n" for line in writer.made), arguments=", ".join(writer.arguments),
        body="".join(lines), last=len(writer.values) - 1, draws=", ".join(writer.draws))
