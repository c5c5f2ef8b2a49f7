# SPDX-License-Identifier: Apache-2.0
"""Every test that Markdown names exists: `SuiteTest.Case`, or only `SuiteTest`.

Run from the checkout's root: python3 scripts/lib/check_named_tests.py. Prints FILE:LINE: what is wrong.
"""

import pathlib
import re
import subprocess
import sys

DECLARED = re.compile(r"\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)")
SUITE = re.compile(r"\bclass (\w+Test)\b")
NAMED = re.compile(r"`(\w+Test)(?:\.(\w+))?`")


def files(pattern):
    """Files that git tracks or would track, and that exist."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", pattern], capture_output=True,
                            text=True, check=True).stdout.split("\n")
    return [pathlib.Path(name) for name in listed if name and pathlib.Path(name).exists()]


def declared():
    """Cases as (suite, case), and suites as (suite, "")."""
    cases = set()
    for path in [*files("tests/*.cpp"), *files("tests/*.hpp")]:
        text = path.read_text(encoding="utf-8")
        cases.update(DECLARED.findall(text))
        cases.update((suite, "") for suite in SUITE.findall(text))
    return cases | {(suite, "") for suite, _ in cases}


def complaints(known):
    for path in files("*.md"):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            for suite, case in NAMED.findall(line):
                if (suite, case) not in known:
                    yield f"{path}:{number}: names {suite}{'.' * bool(case)}{case}, which no test in tests/ is"


def main():
    lines = list(complaints(declared()))
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
