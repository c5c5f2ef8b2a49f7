# SPDX-License-Identifier: Apache-2.0
"""Each contract lives in its folder: outside of sandbox/contract/NAME/ only the registry names it.

Run from the checkout's root: python3 scripts/lib/check_contracts.py. Prints FILE:LINE: what is wrong.
A file names a contract by an include from its folder, or by its name as a string near the word `contract`.
"""

import re
import sys

import source_tree

HOME = "sandbox/contract/"
REGISTRY = HOME + "registry.cpp"
# A bench measures one contract that it names.
EXEMPT = ("tests/", "actors/commands/bench/", "sandbox/bench/")


def contracts(texts):
    return sorted({path.split("/")[2] for path in texts if path.startswith(HOME) and path.count("/") > 2})


def named(line, names):
    """The contracts that a line of code names by a string."""
    code = source_tree.without_comment(line)
    if not re.search(r"contract", code, re.IGNORECASE) or source_tree.INCLUDE.match(line):
        return []
    return [name for name in names if f'"{name}"' in code]


def complaints(texts):
    names = contracts(texts)
    for path, text in sorted(texts.items()):
        if path == REGISTRY or path.startswith(EXEMPT):
            continue
        own = path[len(HOME):].split("/")[0] if path.startswith(HOME) else ""
        for line, included in source_tree.includes(text):
            other = included[len(HOME):].split("/")[0] if included.startswith(HOME) else ""
            if other in names and other != own:
                yield f"{path}:{line}: only {REGISTRY} and contract {other} itself include {included}"
        for number, line in enumerate(text.split("\n"), 1):
            for name in named(line, names):
                if name != own:
                    yield f"{path}:{number}: only {REGISTRY} and {HOME}{name}/ name the contract {name}"


def main():
    lines = list(complaints(source_tree.read_sources()))
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
