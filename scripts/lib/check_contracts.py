# SPDX-License-Identifier: Apache-2.0
"""Each contract is in sandbox/contract/NAME/: no file outside that folder names it.

Run from the checkout's root: python3 scripts/lib/check_contracts.py. Prints FILE:LINE: what is wrong.
A file names a contract by an include from its folder, or by its name as a string near the word `contract`. A default
(`contract = "cpu"`) may name one. CMakeLists.txt of the root registers contracts.
"""

import re
import sys

import source_tree

HOME = "sandbox/contract/"
EXEMPT = (
    "tests/",
    # A bench measures one contract.
    "commands/bench/", "sandbox/bench/",
    # The mode `runner` of the program is the process of contract cpu, and the probe of the jail starts it.
    "sandbox/service/main.cpp", "sandbox/service/probe.cpp",
    # A slot without a GPU is configured as contract cpu.
    "commands/slots.cpp",
)
DEFAULT = re.compile(r'\bcontract = "\w+"')


def contracts(texts):
    return sorted({path.split("/")[2] for path in texts if path.startswith(HOME) and path.count("/") > 2})


def named(line, names):
    """The contracts that a line of code names in a string."""
    code = DEFAULT.sub("", source_tree.without_comment(line))
    if not re.search(r"contract", code, re.IGNORECASE) or source_tree.INCLUDE.match(line):
        return []
    return [name for name in names if f'"{name}"' in code]


def complaints(texts):
    names = contracts(texts)
    for path, text in sorted(texts.items()):
        if path.startswith(EXEMPT):
            continue
        own = path[len(HOME):].split("/")[0] if path.startswith(HOME) else ""
        for line, included in source_tree.includes(text):
            other = included[len(HOME):].split("/")[0] if included.startswith(HOME) else ""
            if other in names and other != own:
                yield f"{path}:{line}: includes {included}, which only {HOME}{other}/ may"
        for number, line in enumerate(text.split("\n"), 1):
            for name in named(line, names):
                if name != own:
                    yield f"{path}:{number}: names contract {name}: ask sandbox/contract/contract.hpp instead"


def main():
    lines = list(complaints(source_tree.read_sources()))
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
