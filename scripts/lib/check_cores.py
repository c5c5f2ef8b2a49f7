# SPDX-License-Identifier: Apache-2.0
"""The pure cores use no CAF, files, clocks, threads or processes, and neither do our headers that they include.

Run from the checkout's root: python3 scripts/lib/check_cores.py. Prints FILE:LINE: what is wrong.
scripts/pure-cores.txt lists them: a folder (with its files, without nested folders) or a unit
(PATH without its ending: its .hpp, .cpp, .cu and .cuh). A header that a core includes counts together with the
sources of the same name, because the core calls them.
"""

import os
import re
import sys

import source_tree

LIST = "scripts/pure-cores.txt"
# What must not occur: its headers, and a pattern that finds it in code.
IMPURE = {
    "CAF": (r"caf/.*", r"\bcaf::"),
    "files": (r"fstream|iostream|fcntl\.h|unistd\.h|sys/.*|dirent\.h|dlfcn\.h|sqlite3\.h|spdlog/.*",
              r"\b[io]?fstream\b|\bfopen\b|(?<!\w)::open\(|\bfilesystem::(?:exists|is_|file_size|create_|remove|rename"
              r"|copy|read_symlink|canonical|weakly_|absolute|current_path|temp_|last_write_|\w*directory_iterator)"),
    "clocks": (r"runtime/clock\.hpp", r"_clock::now\b|\bclock_gettime\b|\bsleep_(?:for|until)\b|\bstd::time\("),
    "threads": (r"thread|mutex|shared_mutex|condition_variable|future|atomic|pthread\.h|stop_token|semaphore",
                r"\bstd::(?:jthread|thread|mutex|async)\b|\bfork\("),
    "draws without a seed": (r"sys/random\.h", r"\brandom_device\b|\bgetrandom\b"),
}
IMPURE = {what: (re.compile(headers), re.compile(words)) for what, (headers, words) in IMPURE.items()}
ENDINGS = (".hpp", ".cpp", ".cuh", ".cu")


def members(entry, texts):
    """The files of a line of the list."""
    unit = [entry + ending for ending in ENDINGS if entry + ending in texts]
    return unit or [path for path in texts if os.path.dirname(path) == entry.rstrip("/")]


def reached(start, texts):
    """The start, our headers that it includes, and their sources: file → the file that led there."""
    came_from = {path: None for path in start}
    queue = list(start)
    while queue:
        path = queue.pop()
        stem = os.path.splitext(path)[0]
        targets = [included for _, included in source_tree.includes(texts[path])]
        for target in [*targets, *(stem + ending for ending in ENDINGS)]:
            if target in texts and target not in came_from:
                came_from[target] = path
                queue.append(target)
    return came_from


def way(path, came_from):
    steps = [path]
    while came_from[steps[-1]]:
        steps.append(came_from[steps[-1]])
    return " <- ".join(steps)


def impurities(text):
    for number, line in enumerate(text.split("\n"), 1):
        include = source_tree.INCLUDE.match(line)
        for what, (headers, words) in IMPURE.items():
            if headers.fullmatch(include.group(1)) if include else words.search(source_tree.without_comment(line)):
                yield number, what


def complaints(entries, texts):
    for entry in entries:
        start = members(entry, texts)
        if not start:
            yield f"{LIST}: {entry} is no folder and no unit of ours"
        came_from = reached(start, texts)
        for path in sorted(came_from):
            for line, what in impurities(texts[path]):
                yield f"{path}:{line}: {what} in a pure core ({way(path, came_from)})"


def main():
    with open(LIST, encoding="utf-8") as file:
        entries = [entry for entry in (line.split("#")[0].strip() for line in file) if entry]
    lines = list(complaints(entries, source_tree.read_sources()))
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
