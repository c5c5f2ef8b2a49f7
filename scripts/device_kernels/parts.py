# SPDX-License-Identifier: Apache-2.0
# The steps that each statement of a task's forward takes over a row. `e` is one element of it.
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Each:
    """A C++ statement on the element `e`. {name} is the operand's element at the same place."""

    text: str


@dataclass(frozen=True)
class Reduce:
    """The sum or the largest of an expression of `e` over the row, as a constant for later steps."""

    name: str
    operation: str  # "Sum" or "Largest"
    text: str


@dataclass(frozen=True)
class RowValue:
    """A constant of the row, computed from others."""

    name: str
    text: str


@dataclass(frozen=True)
class Scan:
    """`e` becomes the sum of the row up to and including it."""


def _layer_norm(gain, bias):
    return [
        Reduce("sum", "Sum", "e"),
        RowValue("mean", "sum / columns"),
        Each("e -= mean;"),
        Reduce("squares", "Sum", "e * e"),
        RowValue("scale", "rsqrtf(squares / columns + 1e-5f)"),
        Each(f"e = e * scale * {{{gain}}} + {{{bias}}};"),
    ]


def _rms_norm(gain):
    return [
        Reduce("squares", "Sum", "e * e"),
        RowValue("scale", "rsqrtf(squares / columns + 1e-6f)"),
        Each(f"e *= scale * {{{gain}}};"),
    ]


def _softmax():
    return [
        Reduce("largest", "Largest", "e"),
        Each("e = expf(e - largest);"),
        Reduce("total", "Sum", "e"),
        Each("e /= total;"),
    ]


_EXPONENTIALS = [Reduce("largest", "Largest", "e"), Reduce("total", "Sum", "expf(e - largest)")]

_FORMS = [
    (r"x = x \+ (?:self\.)?(\w+)", lambda n: [Each(f"e += {{{n}}};")]),
    (r"x = x \* (?:self\.)?([a-z]\w*)", lambda n: [Each(f"e *= {{{n}}};")]),
    (r"x = x \* ([0-9.]+)", lambda n: [Each(f"e *= {float(n)}f;")]),
    (r"x = F\.gelu\(x\)", lambda: [Each("e = 0.5f * e * (1 + erff(e * 0.70710678f));")]),
    (r"x = F\.silu\(x\)", lambda: [Each("e = e / (1 + expf(-e));")]),
    (r"x = torch\.relu\(x\)", lambda: [Each("e = fmaxf(e, 0);")]),
    (r"x = torch\.sigmoid\(x\)", lambda: [Each("e = 1 / (1 + expf(-e));")]),
    (r"x = torch\.tanh\(x\)", lambda: [Each("e = tanhf(e);")]),
    (r"x = x\.masked_fill\((\w+), -1e9\)", lambda n: [Each(f"if ({{{n}}}) e = -1e9f;")]),
    (r"x = torch\.softmax\(x, -1\)", _softmax),
    (
        r"x = torch\.log_softmax\(x, -1\)",
        lambda: [*_EXPONENTIALS, RowValue("shift", "logf(total)"), Each("e = (e - largest) - shift;")],
    ),
    (r"x = torch\.logsumexp\(x, -1\)", lambda: [*_EXPONENTIALS, RowValue("x_of_row", "largest + logf(total)")]),
    (r"x = x\.amax\(-1\)", lambda: [Reduce("x_of_row", "Largest", "e")]),
    (
        r'x = F\.cross_entropy\(x, (\w+), reduction="none"\)',
        lambda n: [
            *_EXPONENTIALS,
            Reduce("chosen", "Sum", f"c + j == {n}[row] ? e : 0"),
            RowValue("x_of_row", "(largest - chosen) + logf(total)"),
        ],
    ),
    (r"x = torch\.cumsum\(x, -1\)", lambda: [Scan()]),
    (r"x = F\.layer_norm\(x, x\.shape\[-1:\], self\.(\w+), self\.(\w+)\)", _layer_norm),
    (r"x = F\.rms_norm\(x, x\.shape\[-1:\], self\.(\w+), 1e-6\)", _rms_norm),
    (
        r"(\w+) = torch\.sqrt\(x\.pow\(2\)\.mean\(-1, keepdim=True\) \+ 1e-6\)",
        lambda n: [Reduce("squares", "Sum", "e * e"), RowValue(f"{n}_of_row", "sqrtf(squares / columns + 1e-6f)")],
    ),
    (r"x = x / ([a-z]\w*)", lambda n: [Each(f"e /= {n}_of_row;")]),
]


def steps_of(statement):
    """The steps of a statement. Raises ValueError for an unknown one."""
    for form, make in _FORMS:
        found = re.fullmatch(form, statement)
        if found:
            return make(*found.groups())
    raise ValueError(f"no kernel over rows for the statement: {statement}")
