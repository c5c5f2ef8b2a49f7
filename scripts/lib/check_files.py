# SPDX-License-Identifier: Apache-2.0
"""A file holds one concept, whole.

Run from the checkout's root: python3 scripts/lib/check_files.py. Prints FILE: what is wrong.
- A header and its source are one unit. A unit under 40 lines needs a reason in scripts/small-files.txt.
- The members of a class that a header declares are defined in one source.
"""

import collections
import os
import re
import sys

import source_tree

LEAST_LINES = 40
REASONS = "scripts/small-files.txt"
PRODUCT = tuple(folder for folder in source_tree.FOLDERS if folder != "tests")
CLASS = re.compile(r"^(?:template <[^\n]*>\n)?(?:class|struct) (\w+)[^;{]*\{", re.MULTILINE)
# A member's definition begins a line; its name follows its type.
MEMBER = re.compile(r"^(?:[\w:<>,&*\[\]][\w:<>,&*\[\] ]* )?[&*]?(?:\w+::)*(\w+)::~?\w+\(", re.MULTILINE)


def unit(path):
    return os.path.splitext(path)[0]


def read_reasons(text):
    """unit → reason."""
    lines = (line.partition(": ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: reason for name, _, reason in lines}


def small_units(texts, reasons):
    sizes = collections.Counter()
    for path, text in texts.items():
        sizes[unit(path)] += text.count("\n")
    for name, lines in sorted(sizes.items()):
        if lines < LEAST_LINES and not reasons.get(name):
            yield (f"{name}: {lines} lines: join it with the file that holds its concept, or give a reason in "
                   f"{REASONS}")
    for name in sorted(reasons):
        if sizes[name] == 0:
            yield f"{REASONS}: {name} does not exist"
        elif sizes[name] >= LEAST_LINES:
            yield f"{REASONS}: {name} has {sizes[name]} lines and needs no reason"


def is_stub(path):
    return unit(path).endswith("_stub")


def cut_classes(texts):
    declared = collections.defaultdict(set)  # class → folders of the headers that declare it
    for path, text in texts.items():
        if path.endswith(".hpp"):
            for name in CLASS.findall(text):
                declared[name].add(os.path.dirname(path))
    homes = collections.defaultdict(set)  # (folder, class) → sources that define members
    for path, text in texts.items():
        folder = os.path.dirname(path)
        if path.endswith(".cpp") and not is_stub(path):
            for name in MEMBER.findall(text):
                if folder in declared.get(name, ()):
                    homes[folder, name].add(path)
    for (_, name), sources in sorted(homes.items()):
        if len(sources) > 1:
            yield f"{min(sources)}: class {name} is cut over {', '.join(sorted(sources))}: join them"


def complaints(texts, reasons):
    product = {path: text for path, text in texts.items()
               if path.split("/")[0] in PRODUCT and path.endswith((".hpp", ".cpp"))}
    yield from small_units(product, reasons)
    yield from cut_classes(product)


def main():
    with open(REASONS, encoding="utf-8") as file:
        reasons = read_reasons(file.read())
    lines = list(complaints(source_tree.read_sources(), reasons))
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
