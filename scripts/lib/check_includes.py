# SPDX-License-Identifier: Apache-2.0
"""The arrows between folders, and the small rules that a regular expression can check.

Run from the checkout's root: python3 scripts/lib/check_includes.py. Prints FILE:LINE: what is wrong.
"""

import sys

import source_tree
from source_tree import FOLDERS, tracked

MAY_SEE = {
    "runtime": {"runtime"},
    "policy": {"runtime", "policy"},
    "sandbox": {"runtime", "sandbox"},
    "synthesis": {"runtime", "synthesis"},
    "actors": {"runtime", "policy", "sandbox", "synthesis", "actors"},
    "commands": set(FOLDERS) - {"tests"},
    "tests": set(FOLDERS),
}
# Prefix of an include → folders that may use it.
ONLY_IN = {
    "caf/": {"actors", "commands"},
    "torch/": {"policy", "actors", "commands"},
    "ATen/": {"policy", "actors", "commands"},
    "c10/": {"policy", "actors", "commands"},
}
# Expensive in every file that includes them, so never in a header, except in those of tests.
NOT_IN_HEADERS = ("spdlog/", "boost/process", "CLI/", "nlohmann/", "toml++/", "httplib.h",
                  "runtime/json.hpp")
# A header that includes one such library for the few sources that use it.
DOORS = {"runtime/config/toml_library.hpp": "toml++/toml.h",
         "runtime/json.hpp": "nlohmann/json.hpp",
         "runtime/json_text.hpp": "nlohmann/json_fwd.hpp"}
NEVER = ("torch/torch.h", "torch/all.h", "ATen/ATen.h")
MAX_LINES = 600
MAX_BYTES = 10 << 20


def test_area(parts):
    """tests/policy/… may use what policy/ may use; tests/support/ may use what its users may."""
    return parts[1] if parts[0] == "tests" and len(parts) > 2 else parts[0]


def wrong_include(path, included):
    parts = path.split("/")
    top, area = parts[0], test_area(parts)
    if included in NEVER:
        return f"{included} costs 12 s and more per file: include the single header that is used"
    first = included.split("/")[0]
    if first in FOLDERS and "/" in included and first not in MAY_SEE[top]:
        return f"{top}/ must not include {included}: it sees {', '.join(sorted(MAY_SEE[top]))}"
    for prefix, allowed in ONLY_IN.items():
        if included.startswith(prefix) and area not in allowed and area != "support":
            return f"<{prefix}…> belongs to {', '.join(sorted(allowed))} only"
    if included == DOORS.get(path):
        return None
    if top != "tests" and path.endswith(".hpp") and included.startswith(NOT_IN_HEADERS):
        return f"{included} is slow to compile: include it in a .cpp"
    return None


def check_source(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    lines = text.split("\n")
    if not lines[0].startswith("// SPDX-License-Identifier: Apache-2.0"):
        yield 1, "the first line must be // SPDX-License-Identifier: Apache-2.0"
    if len(lines) - 1 > MAX_LINES:
        yield len(lines) - 1, f"{len(lines) - 1} lines; split it (at most {MAX_LINES})"
    for number, included in source_tree.includes(text):
        message = wrong_include(path, included)
        if message:
            yield number, message


def check_size(path):
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
    except (FileNotFoundError, IsADirectoryError):
        return
    if size > MAX_BYTES:
        yield 1, f"{size} bytes; no file over {MAX_BYTES}"


def main():
    wrong = 0
    sources = [p for p in tracked(*source_tree.SOURCES) if p.split("/")[0] in FOLDERS]
    checks = [(p, check_source) for p in sources] + [(p, check_size) for p in tracked()]
    for path, check in checks:
        try:
            for line, message in check(path):
                print(f"{path}:{line}: {message}")
                wrong += 1
        except FileNotFoundError:
            continue  # removed, not yet staged
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
