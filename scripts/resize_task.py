#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a task in other sizes: replaces constants at the top of its file.

    scripts/resize_task.py configs/tasks/micro/scan/row_cumsum.py ROWS=4096 COLUMNS=8192 --out my/row_cumsum.py
    scripts/resize_task.py configs/tasks/micro/scan/row_cumsum.py --list

A size is a line `NAME = NUMBER` that starts in the first column. Without --out the task goes to standard output.
"""

import argparse
import pathlib
import re
import sys

SIZE = re.compile(r"^([A-Z][A-Z0-9_]*) = ([0-9]+)$", re.MULTILINE)
CHANGE = re.compile(r"^([A-Z][A-Z0-9_]*)=([1-9][0-9]{0,11})$")


def sizes_of(text):
    """The sizes in a task's text, by name."""
    return {name: int(number) for name, number in SIZE.findall(text)}


def parse_changes(arguments):
    """NAME=NUMBER texts as a dict; ValueError names the one that is wrong."""
    changes = {}
    for argument in arguments:
        match = CHANGE.match(argument)
        if match is None:
            raise ValueError(f"expected NAME=NUMBER with a number from 1 on, got {argument!r}")
        if match[1] in changes:
            raise ValueError(f"{match[1]} is given twice")
        changes[match[1]] = int(match[2])
    return changes


def resized(text, changes):
    """The text with other sizes; ValueError names a size that it does not have."""
    known = sizes_of(text)
    for name in changes:
        if name not in known:
            raise ValueError(f"no size {name}; the task has {', '.join(known) or 'none'}")
    return SIZE.sub(lambda m: f"{m[1]} = {changes.get(m[1], int(m[2]))}", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", type=pathlib.Path, help="the task's file")
    parser.add_argument("changes", nargs="*", metavar="NAME=NUMBER", help="a size to replace")
    parser.add_argument("--out", type=pathlib.Path, help="file to write; its folder is created")
    parser.add_argument("--list", action="store_true", help="print the sizes and end")
    arguments = parser.parse_args()
    try:
        text = arguments.task.read_text(encoding="utf-8")
        if arguments.list:
            print("\n".join(f"{name}={number}" for name, number in sizes_of(text).items()))
            return 0
        out = resized(text, parse_changes(arguments.changes))
        if arguments.out is None:
            sys.stdout.write(out)
            return 0
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(out, encoding="utf-8")
    except (ValueError, OSError) as error:
        print(f"{arguments.task}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
