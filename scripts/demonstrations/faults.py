# SPDX-License-Identifier: Apache-2.0
# Kernels that are not correct: one subtle mistake in one part, or source that does not compile.
import re
from dataclasses import replace

from .kernel import write_kernel
from .operators import Loop, parts_of


def mistakes_of(task):
    """Every way to get one part wrong: (place among the parts, the wrong part)."""
    found = []
    parts = parts_of(task.statements)
    for place, (statement, part) in enumerate(parts):
        for index, wrong in part.mistakes:
            lines = part.lines[:index] + (wrong,) + part.lines[index + 1 :]
            found.append((place, replace(part, lines=lines)))
        if statement and part.kind == "step" and len(part.lines) == 1:
            found.append((place, replace(part, lines=())))  # the comment stays, its line is missing
    return found


def with_mistake(task, style, mistake):
    place, wrong = mistake
    parts = parts_of(task.statements)
    parts[place] = (parts[place][0], wrong)
    return write_kernel(task, style, parts)


def changed_line(right, wrong):
    """(right line, wrong line) if exactly one differs and the wrong one occurs once in `wrong`, else None."""
    a, b = right.splitlines(), wrong.splitlines()
    if len(a) != len(b):
        return None
    different = [(x.strip(), y.strip()) for x, y in zip(a, b, strict=True) if x != y]
    unique = len(different) == 1 and wrong.count(different[0][1]) == 1
    return different[0] if unique else None


def without_semicolon(source, rng):
    lines = source.splitlines()
    number = rng.choice([i for i, l in enumerate(lines) if re.match(r"    for .*;$", l)])
    column = len(lines[number])
    lines[number] = lines[number][:-1]
    following = next(l.strip() for l in lines[number + 1 :] if not l.strip().startswith("//"))
    word = "'}' token" if following == "}" else f"'{following.split(' ')[0].split('(')[0]}'"
    return lines, f"{number + 1}:{column}: error: expected ';' before {word}"


def without_pointer(source, rng):
    lines = source.splitlines()
    number = rng.choice([i for i, l in enumerate(lines) if l.startswith("  auto ")])
    name = lines.pop(number).split(" ")[3]
    for at, line in enumerate(lines):
        found = re.search(rf"\b{name}\b(\[| \+)", line)
        if found and "//" not in line and at >= number:
            return lines, f"{at + 1}:{found.start() + 1}: error: '{name}' was not declared in this scope"
    raise ValueError(f"{name} is never used")


def unclosed(source, _rng):
    lines = source.splitlines()[:-1]
    return lines, f"{len(lines)}:4: error: expected '}}' at end of input"


UNCOMPILABLE = (without_semicolon, without_pointer, unclosed)


def uncompilable(source, rng):
    """(source that does not compile, the first line of the compiler's message)."""
    lines, message = rng.choice(UNCOMPILABLE)(source, rng)
    return "\n".join(lines) + "\n", f"kernel.cpp:{message}"
