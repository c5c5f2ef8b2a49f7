# SPDX-License-Identifier: Apache-2.0
# C++ parts, one per PyTorch operator. A row of the result is t[0 .. C): the first statement of
# forward fills it (head), later ones change it in place (step), a last one may write elsewhere (tail).
import re
from dataclasses import dataclass, replace

ROWS = "const int64_t R = dims[0], C = dims[1];"


@dataclass(frozen=True)
class Loop:
    """An innermost loop. `reduce` is OpenMP's reduction, e.g. "+ : s"; `outer`: the loops around it.

    `touches`: the row of memory that it reads or writes @ iterations later.
    `unrolled`: the same body for four steps of the innermost outer loop.
    """

    body: str
    reduce: str = ""
    over: str = "c < C"
    outer: tuple = ()
    touches: str = ""
    unrolled: str = ""


@dataclass(frozen=True)
class Scan:
    """A running sum: `before` is added to `a`, then `after` reads it."""

    before: str
    after: str


@dataclass(frozen=True)
class Part:
    """The C++ of one statement. `mistakes`: (line index, a subtly wrong line for it)."""

    kind: str  # head, step, tail
    lines: tuple  # of str, Loop and Scan
    mistakes: tuple = ()
    dims: str = ROWS


def named(line, names):
    """The line with $-placeholders replaced by operand names."""
    if isinstance(line, str):
        return _replace(line, names)
    if isinstance(line, Scan):
        return line
    return replace(
        line,
        body=_replace(line.body, names),
        touches=_replace(line.touches, names),
        unrolled=_replace(line.unrolled, names),
    )


def _replace(text, names):
    for key, name in names.items():
        text = text.replace("$" + key, name)
    return text


def part(kind, *lines, mistakes=(), dims=ROWS):
    """A function from operand names to the part."""
    return lambda **names: Part(
        kind,
        tuple(named(line, names) for line in lines),
        tuple((index, named(line, names)) for index, line in mistakes),
        _replace(dims, names),
    )


def each(body, *wrong, touches=""):
    """An elementwise step, with wrong bodies for it."""
    return part("step", Loop(body, touches=touches), mistakes=[(0, Loop(w)) for w in wrong])


LOAD = Part("head", (Loop("t[c] = x[r * C + c];", touches="x + (r + @) * C"),))
STORE = Part(
    "tail",
    (Loop("y[r * C + c] = t[c];", touches="y + (r + @) * C"),),
    ((0, Loop("y[r * C + c] = t[c];", over="c < C - 1")),),
)

MAXIMUM = ("float m = t[0];", Loop("m = t[c] > m ? t[c] : m;", "max : m"))
EXP_SUM = ("float s = 0;", Loop("s += expf(t[c] - m);", "+ : s"))
SUM = ("float s = 0;", Loop("s += t[c];", "+ : s"))
SQUARES = ("float q = 0;", Loop("q += t[c] * t[c];", "+ : q"))
MEAN = ("float u = 0;", Loop("u += t[c];", "+ : u"), "u = u / C;")
SPREAD = (
    "float v = 0;",
    Loop("v += (t[c] - u) * (t[c] - u);", "+ : v"),
    "v = 1 / sqrtf(v / C + 1e-5f);",
)
NO_MEAN_SPREAD = "v = 1 / sqrtf(v + 1e-5f);"

# A statement of forward (after "x = ") → its part. Named groups are operands.
TABLE = [
    # Elementwise
    (r"torch\.relu\(x\)", each("t[c] = t[c] > 0 ? t[c] : 0;", "t[c] = t[c] < 0 ? t[c] : 0;")),
    (r"torch\.tanh\(x\)", each("t[c] = tanhf(t[c]);", "t[c] = tanhf(-t[c]);")),
    (r"torch\.sigmoid\(x\)", each("t[c] = 1 / (1 + expf(-t[c]));", "t[c] = 1 / (1 + expf(t[c]));")),
    (r"F\.silu\(x\)", each("t[c] = t[c] / (1 + expf(-t[c]));", "t[c] = t[c] / (1 + expf(t[c]));")),
    (
        r'F\.gelu\(x, approximate="tanh"\)',
        each(
            "t[c] = t[c] / (1 + expf(-1.5957691f * (t[c] + 0.044715f * t[c] * t[c] * t[c])));",
            "t[c] = t[c] / (1 + expf(-0.7978846f * (t[c] + 0.044715f * t[c] * t[c] * t[c])));",
        ),
    ),
    (
        r"F\.softplus\(x\)",
        each("t[c] = log1pf(expf(-fabsf(t[c]))) + (t[c] > 0 ? t[c] : 0);", "t[c] = log1pf(expf(-t[c]));"),
    ),
    (r"x \* x", each("t[c] = t[c] * t[c];", "t[c] = t[c] + t[c];")),
    (r"x \* (?P<s>[0-9.]+)", each("t[c] = t[c] * $sf;", "t[c] = t[c] / $sf;")),
    (r"x \+ self\.(?P<p>\w+)", each("t[c] = t[c] + $p[c];", "t[c] = t[c] - $p[c];", "t[c] = t[c] + $p[0];")),
    (r"x \* self\.(?P<p>\w+)", each("t[c] = t[c] * $p[c];", "t[c] = t[c] * $p[0];")),
    (r"x \+ (?P<z>[a-z])", each("t[c] = t[c] + $z[r * C + c];", "t[c] = t[c] + $z[c];", touches="$z + (r + @) * C")),
    (r"x \* (?P<z>[a-z])", each("t[c] = t[c] * $z[r * C + c];", "t[c] = t[c] * $z[c];", touches="$z + (r + @) * C")),
    # Along the row
    (
        r"torch\.softmax\(x, -1\)",
        part(
            "step",
            *MAXIMUM,
            "float s = 0;",
            Loop("s += t[c] = expf(t[c] - m);", "+ : s"),
            "s = 1 / s;",
            Loop("t[c] = t[c] * s;"),
            mistakes=[(2, "float s = 1;"), (4, "s = 1 / m;")],
        ),
    ),
    (
        r"torch\.log_softmax\(x, -1\)",
        part(
            "step",
            *MAXIMUM,
            *EXP_SUM,
            "s = m + logf(s);",
            Loop("t[c] = t[c] - s;"),
            mistakes=[(4, "s = logf(s);"), (4, "s = m + s;")],
        ),
    ),
    (
        r"F\.layer_norm\(x, x\.shape\[-1:\], self\.(?P<w>\w+), self\.(?P<b>\w+)\)",
        part(
            "step",
            *MEAN,
            *SPREAD,
            Loop("t[c] = (t[c] - u) * v * $w[c] + $b[c];"),
            mistakes=[(5, NO_MEAN_SPREAD), (6, Loop("t[c] = (t[c] - u) * v * $w[c];"))],
        ),
    ),
    (
        r"F\.group_norm\(x, (?P<g>\d+)\)",
        part(
            "step",
            *MEAN,
            *SPREAD,
            Loop("t[c] = (t[c] - u) * v;"),
            mistakes=[(5, NO_MEAN_SPREAD), (6, Loop("t[c] = (t[c] + u) * v;"))],
            dims="const int64_t R = dims[0] * $g, C = dims[1] / $g * dims[2];",
        ),
    ),
    (
        r"F\.rms_norm\(x, x\.shape\[-1:\], self\.(?P<w>\w+)\)",
        part(
            "step",
            *SQUARES,
            "q = 1 / sqrtf(q / C + 1.1920929e-7f);",
            Loop("t[c] = t[c] * q * $w[c];"),
            mistakes=[
                (2, "q = 1 / sqrtf(q + 1.1920929e-7f);"),
                (3, Loop("t[c] = t[c] * q;")),
            ],
        ),
    ),
    (
        r"F\.normalize\(x, dim=-1\)",
        part(
            "step",
            *SQUARES,
            "q = q > 1e-24f ? 1 / sqrtf(q) : 1e12f;",
            Loop("t[c] = t[c] * q;"),
            mistakes=[(2, "q = q > 1e-24f ? 1 / q : 1e12f;")],
        ),
    ),
    (
        r"x - x\.mean\(-1, keepdim=True\)",
        part(
            "step",
            *MEAN,
            Loop("t[c] = t[c] - u;"),
            mistakes=[(2, "u = u / R;"), (3, Loop("t[c] = t[c] + u;"))],
        ),
    ),
    (
        r"torch\.cumsum\(x, -1\)",
        part(
            "step",
            "float a = 0;",
            Scan("a += t[c];", "t[c] = a;"),
            mistakes=[(0, "float a = 1;"), (1, Loop("t[c] = a += t[c];", over="c < C - 1"))],
        ),
    ),
    # Out of the row
    (
        r"x\.sum\(-1\)",
        part("tail", *SUM, "y[r] = s;", mistakes=[(2, "y[r] = s / C;"), (0, "float s = 1;")]),
    ),
    (
        r"x\.mean\(-1\)",
        part("tail", *SUM, "y[r] = s / C;", mistakes=[(2, "y[r] = s;"), (2, "y[r] = s / R;")]),
    ),
    (
        r"x\.amax\(-1\)",
        part(
            "tail",
            *MAXIMUM,
            "y[r] = m;",
            mistakes=[(0, "float m = 9;"), (1, Loop("m = t[c] < m ? t[c] : m;", "min : m"))],
        ),
    ),
    (
        r"torch\.logsumexp\(x, -1\)",
        part("tail", *MAXIMUM, *EXP_SUM, "y[r] = m + logf(s);", mistakes=[(4, "y[r] = logf(s);")]),
    ),
    # Into the row
    (
        r"x @ self\.(?P<k>\w+)",
        part(
            "head",
            Loop("t[c] = 0;"),
            Loop(
                "t[c] += x[r * D + d] * $k[d * C + c];",
                outer=("d < D",),
                unrolled="t[c] += x[r * D + d] * $k[d * C + c] + x[r * D + d + 1] * $k[(d + 1) * C + c] + "
                "x[r * D + d + 2] * $k[(d + 2) * C + c] + x[r * D + d + 3] * $k[(d + 3) * C + c];",
            ),
            mistakes=[(1, Loop("t[c] += x[r * D + d] * $k[c * D + d];", outer=("d < D",)))],
            dims="const int64_t R = dims[0], D = dims[1], C = dims[3];",
        ),
    ),
    (
        r"q @ k",
        part(
            "head",
            "auto p = k + r / C * D * C;",
            Loop("t[c] = 0;"),
            Loop(
                "t[c] += q[r * D + d] * p[d * C + c];",
                outer=("d < D",),
                unrolled="t[c] += q[r * D + d] * p[d * C + c] + q[r * D + d + 1] * p[(d + 1) * C + c] + "
                "q[r * D + d + 2] * p[(d + 2) * C + c] + q[r * D + d + 3] * p[(d + 3) * C + c];",
            ),
            mistakes=[(0, "auto p = k + r / D * D * C;")],
            dims="const int64_t R = dims[0] * dims[1], C = dims[1], D = dims[2];",
        ),
    ),
    (
        r"x @ v",
        part(
            "tail",
            "auto o = v + r / C * C * D;",
            Loop("y[r * D + d] = 0;", over="d < D"),
            Loop(
                "y[r * D + d] += t[c] * o[c * D + d];",
                over="d < D",
                outer=("c < C",),
                unrolled="y[r * D + d] += t[c] * o[c * D + d] + t[c + 1] * o[(c + 1) * D + d] + "
                "t[c + 2] * o[(c + 2) * D + d] + t[c + 3] * o[(c + 3) * D + d];",
            ),
            mistakes=[(0, "auto o = v + r * D;")],
        ),
    ),
    (
        r"F\.max_pool2d\(x, 2\)",
        part(
            "head",
            "auto a = x + r * 2 * W;",
            Loop("t[c] = a[2 * c] > a[2 * c + 1] ? a[2 * c] : a[2 * c + 1];", touches="a + @ * 2 * W"),
            "a = a + W;",
            Loop("t[c] = t[c] > a[2 * c] ? t[c] : a[2 * c];"),
            Loop("t[c] = t[c] > a[2 * c + 1] ? t[c] : a[2 * c + 1];"),
            mistakes=[(2, "a = a + 1;"), (4, Loop("t[c] = t[c] > a[c] ? t[c] : a[c];"))],
            dims="const int64_t R = dims[0] * dims[1] * dims[2] / 2, W = dims[3], C = W / 2;",
        ),
    ),
    (
        r"F\.conv2d\(x, self\.(?P<k>\w+), groups=x\.shape\[1\]\)",
        part(
            "head",
            "auto a = x + (r / P * H + r % P) * W;",
            "auto p = $k + r / P % N * 9;",
            Loop("t[c] = 0;"),
            Loop("t[c] += a[i * W + c + j] * p[i * 3 + j];", outer=("i < 3", "j < 3")),
            mistakes=[
                (1, "auto p = $k;"),
                (3, Loop("t[c] += a[i * W + c + j] * p[j * 3 + i];", outer=("i < 3", "j < 3"))),
            ],
            dims="const int64_t N = dims[1], H = dims[2], W = dims[3], P = H - 2, C = W - 2, "
            "R = dims[0] * N * P;",
        ),
    ),
]


def part_of(statement):
    """The part for a statement of forward. Raises ValueError for an operator without one."""
    expression = statement.removeprefix("x = ")
    for pattern, make in TABLE:
        match = re.fullmatch(pattern, expression)
        if match:
            return make(**match.groupdict())
    raise ValueError(f"no C++ part for the statement {statement!r}")


def parts_of(statements):
    """(statement or None, part) from the first head to the last tail."""
    parts = [(s, part_of(s)) for s in statements]
    if parts[0][1].kind != "head":
        parts.insert(0, (None, LOAD))
    if parts[-1][1].kind != "tail":
        parts.append((None, STORE))
    return parts
