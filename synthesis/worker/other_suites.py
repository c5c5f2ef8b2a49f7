# SPDX-License-Identifier: Apache-2.0
# Tasks in the formats of other suites (docs/suites.md), which the program `warpsmith` rewrites in KernelBench's form.
import functools
import json
import os
import pathlib
import subprocess

from row_files import Unreadable

_WITHOUT_TASKS = 2  # exit status for bad input
_READING_S = 600


@functools.cache
def rows_by_file(place):
    """Maps the files of other formats beneath a place to their rows, or a text in place of one. Empty if this was not
    started by the program."""
    program = os.environ.get("WARPSMITH_PROGRAM")
    found = {}
    for line in _lines(program, place) if program else ():
        path, row = pathlib.Path(line["file"]), _row(line)
        if row is not None:
            found.setdefault(path, []).append(row)
    return found


def _row(line):
    """None for a program in KernelBench's form, and one that is no task: both are read as they are."""
    if "refusal" in line:
        return line["refusal"] if line["file"].endswith(".json") else None
    if line["format"] == "KernelBench":
        return None
    return {"code": line["code"], "data_source": line["format"]}


def _lines(program, place):
    """The lines of `bench tasks --texts`."""
    try:
        command = [program, "bench", "tasks", "--texts", str(place)]
        done = subprocess.run(command, capture_output=True, timeout=_READING_S)
    except subprocess.TimeoutExpired:
        raise Unreadable(f"{place}: {program} bench tasks read no tasks within {_READING_S} s") from None
    if done.returncode not in (0, _WITHOUT_TASKS):
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise Unreadable(f"{place}: {program} bench tasks ended with exit status {done.returncode}: {said[-1]}")
    return map(json.loads, done.stdout.splitlines())
