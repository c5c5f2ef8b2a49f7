# SPDX-License-Identifier: Apache-2.0
"""Finds configuration fields that nothing reads: setting such a key would have no effect.

Run from the checkout's root: python3 scripts/lib/check_config_keys.py. Prints FILE:LINE: what is wrong.
A field counts as read if a source outside runtime/config contains `COMPONENT.FIELD` (loss.clip_low), or
contains `.FIELD` and names the struct or takes the component as a whole (`= c.generator;`). A source is a
.cpp together with its .hpp.
"""

import collections
import pathlib
import re
import sys

CONFIG = pathlib.Path("runtime/config")
READERS = ("runtime", "policy", "sandbox", "synthesis", "actors", "commands")

STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.M | re.S)
FIELD = re.compile(r"^  [\w:]+(?:<[^;=(]*>)? (\w+)(?:\{.*\})?(?: =[^;]*)?;", re.M)


def fields_of(text):
    """Yields (struct, component, field, line): RunSettings is read as `run` or `settings`."""
    for struct in STRUCT.finditer(text):
        name = struct.group(1)
        words = re.findall(r"[A-Z][a-z0-9]*", name)
        if words[-1] not in ("Config", "Settings"):
            continue
        component = "_".join(words[:-1]).lower()
        for field in FIELD.finditer(struct.group(2)):
            line = text.count("\n", 0, struct.start(2) + field.start()) + 1
            yield name, component, field.group(1), line


def is_read(struct, component, field, sources):
    owner = f"(?:{component}|settings)" if struct.endswith("Settings") else component
    direct = re.compile(rf"\b{owner}\.{field}\b")
    somehow = re.compile(rf"(?:\.|->){field}\b")
    taken = re.compile(rf"\b{struct}\b|\b(?:config|c)(?:\.|->){component}\b(?!\.)")
    return any(direct.search(text) or (somehow.search(text) and taken.search(text))
               for text in sources)


def unread(headers, sources):
    for path, text in headers:
        for struct, component, field, line in fields_of(text):
            if struct != "RunConfig" and not is_read(struct, component, field, sources):
                yield f"{path}:{line}: nothing outside {CONFIG} reads {struct}::{field}"


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def main():
    headers = [(p, p.read_text(encoding="utf-8")) for p in sorted(CONFIG.glob("*.hpp"))]
    sources = collections.defaultdict(str)
    for top in READERS:
        for path in sorted(pathlib.Path(top).rglob("*.[ch]pp")):
            if CONFIG not in path.parents:
                sources[path.with_suffix("")] += without_comments(path.read_text(encoding="utf-8"))
    complaints = list(unread(headers, sources.values()))
    print("\n".join(complaints), end="\n" if complaints else "")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
