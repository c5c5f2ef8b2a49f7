# SPDX-License-Identifier: Apache-2.0
"""Each limit of scripts/limits.txt has exactly one default in the product's sources.

Run from the checkout's root: python3 scripts/lib/check_limits.py. Prints FILE:LINE: what is wrong.
A default is a declaration with a value: `int64_t timed_blocks = 8;` or `milliseconds call_timeout{5'000};`. A name in
another spelling is another limit, so a limit keeps its name wherever it is passed.
"""

import re
import sys

import source_tree

LIST = "scripts/limits.txt"
KEYWORDS = ("return", "else", "case", "goto", "throw", "delete")


def default_of(name):
    """A type, the name, a value. Neither `object.name = value` nor `.name = value` has a type before the name."""
    kind = rf"(?!(?:{'|'.join(KEYWORDS)})\b)[\w:][\w:<>,\s]*[\w>&*]"
    value = r"(?:=(?!=)\s*\S|\{\s*[^\s}])"
    return re.compile(rf"(?:^|[;{{(])\s*{kind}\s+[&*]?{name}\s*{value}")


def defaults(name, texts):
    """PATH:LINE of each default."""
    pattern = default_of(name)
    for path in sorted(texts):
        if path.startswith("tests/") or name not in texts[path]:
            continue
        for number, line in enumerate(texts[path].split("\n"), 1):
            if pattern.search(source_tree.without_comment(line)):
                yield f"{path}:{number}"


def complaints(names, texts):
    for name in names:
        found = list(defaults(name, texts))
        if not found:
            yield f"{LIST}: {name} has no default"
        for place in found[1:]:
            yield f"{place}: a second default of {name}; the first is at {found[0]}"


def main():
    with open(LIST, encoding="utf-8") as file:
        names = [name for name in (line.split("#")[0].strip() for line in file) if name]
    lines = list(complaints(names, source_tree.read_sources()))
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
