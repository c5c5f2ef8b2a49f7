# SPDX-License-Identifier: Apache-2.0
"""The files that git tracks or would track, and the includes of a source."""

import re
import subprocess

FOLDERS = ("runtime", "policy", "sandbox", "synthesis", "actors", "commands", "tests")
SOURCES = ("*.cpp", "*.hpp", "*.cu", "*.cuh")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
COMMENT = re.compile(r"//.*")


def without_comment(line):
    return COMMENT.sub("", line)


def tracked(*patterns):
    out = subprocess.run(
        ["git", "ls-files", "-z", "-c", "-o", "--exclude-standard", "--", *patterns],
        check=True, capture_output=True, text=True).stdout
    return [name for name in out.split("\0") if name]


def includes(text):
    """(line, included) of each include."""
    for number, line in enumerate(text.split("\n"), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1)


def read_sources():
    """The text of each source in our folders by its path."""
    texts = {}
    for path in tracked(*SOURCES):
        if path.split("/")[0] in FOLDERS:
            try:
                with open(path, encoding="utf-8") as file:
                    texts[path] = file.read()
            except FileNotFoundError:
                continue  # removed, not yet staged
    return texts


def dependents(changed, texts):
    """The changed files and all that include them, directly or through others."""
    includers = {}
    for path, text in texts.items():
        for _, included in includes(text):
            includers.setdefault(included, []).append(path)
    found, queue = set(changed), list(changed)
    while queue:
        for path in includers.get(queue.pop(), ()):
            if path not in found:
                found.add(path)
                queue.append(path)
    return found
