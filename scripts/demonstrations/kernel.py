# SPDX-License-Identifier: Apache-2.0
# Puts a kernel together: the frame, the pointers, and one part per statement, in a chosen style.
from dataclasses import dataclass

from .operators import ROWS, Loop, Scan, parts_of

ENTRY = 'extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {'
ROW_LOOP = "  for (int64_t r = 0; r < R; ++r) {"
ROW_BUFFER = "    float t[4096];"
WHOLE_BUFFER = "  static float h[1048576];"
ROW_OF_WHOLE = "    auto t = h + r * C;"
LINE_FLOATS = 16  # floats in a cache line


@dataclass(frozen=True)
class Style:
    """How a kernel is written. `plan` is its first line."""

    name: str
    plan: str
    whole: bool = False  # each statement passes over the whole tensor
    vector_math: bool = False  # our header, whose math functions have SIMD variants
    simd: bool = False  # loops and reductions are declared SIMD; products take four steps at once
    ahead: int = 0  # number of rounds by which rows are prefetched


STYLES = {
    style.name: style
    for style in [
        Style("passes", "passes", whole=True),
        Style("rows", "rows"),
        Style("vector", "rows, vector math", vector_math=True),
        Style("simd", "rows, simd", vector_math=True, simd=True),
        Style("ahead2", "rows, simd, prefetch 2", vector_math=True, simd=True, ahead=2),
        Style("ahead4", "rows, simd, prefetch 4", vector_math=True, simd=True, ahead=4),
        Style("ahead8", "rows, simd, prefetch 8", vector_math=True, simd=True, ahead=8),
        Style("sketch", "sketch"),
    ]
}


def for_line(indent, over, step=1):
    index = over.split(" ")[0]
    advance = f"++{index}" if step == 1 else f"{index} += {step}"
    return f"{indent}for (int64_t {index} = 0; {over}; {advance})"


def prefetch_line(touches, ahead):
    start = for_line("    ", "c < C", LINE_FLOATS)
    return f"{start} __builtin_prefetch({touches.replace('@', str(ahead))} + c);"


def loop_lines(loop, style):
    lines, indent = [], "    "
    if style.ahead and loop.touches:
        lines.append(prefetch_line(loop.touches, style.ahead))
    unrolled = style.simd and loop.unrolled
    for number, over in enumerate(loop.outer, 1):
        innermost = number == len(loop.outer)
        lines.append(for_line(indent, over, 4 if unrolled and innermost else 1))
        indent += "  "
    if style.simd:
        clause = f" reduction({loop.reduce})" if loop.reduce else ""
        lines.append(f"{indent}#pragma omp simd{clause}")
    body = loop.unrolled if unrolled else loop.body
    return lines + [f"{for_line(indent, loop.over)} {body}"]


def scan_lines(scan, style):
    before, after = f"      {scan.before}", f"      {scan.after}"
    start = f"{for_line('    ', 'c < C')} {{"
    if not style.simd:
        return [start, before, after, "    }"]
    pragma = "    #pragma omp simd reduction(inscan, + : a)"
    return [pragma, start, before, "      #pragma omp scan inclusive(a)", after, "    }"]


def render(line, style):
    if isinstance(line, Scan):
        return scan_lines(line, style)
    if isinstance(line, Loop):
        return loop_lines(line, style)
    return [f"    {line}"]


def pointer_lines(task):
    lines = [f"  auto {b.name} = (const float*)in[{i}];" for i, b in enumerate(task.inputs)]
    return lines + ["  auto y = (float*)out[0];"]


def dims_line(parts):
    """The dims of the part with its own view of the tensor; rows and columns if there is none."""
    return "  " + next((p.dims for _, p in parts if p.dims != ROWS), ROWS)


def body_lines(parts, style):
    lines = []
    for number, (statement, part) in enumerate(parts):
        if style.whole and number > 0:
            lines += ["  }", ROW_LOOP, ROW_OF_WHOLE]
        # A comment before every part, also the last one, repeats its line of `forward`: the model continues by
        # copying the next line.
        if statement or part.kind == "tail":
            lines.append(f"    // {statement or 'return x'}")
        for line in part.lines:
            lines += render(line, style)
    return lines


def write_kernel(task, style, parts=None):
    """The source text, with a newline at its end."""
    parts = parts or parts_of(task.statements)
    lines = [f"// plan: {style.plan}"]
    lines += ['#include "warpsmith.h"'] if style.vector_math else ["#include <math.h>", "#include <stdint.h>"]
    lines += [ENTRY, *pointer_lines(task), dims_line(parts)]
    lines += [WHOLE_BUFFER] if style.whole else []
    lines += [ROW_LOOP, ROW_OF_WHOLE if style.whole else ROW_BUFFER]
    lines += [*body_lines(parts, style), "  }", "}"]
    return "\n".join(lines) + "\n"
