# SPDX-License-Identifier: Apache-2.0
# Starts prepare.py in a separate process, since crawling and reading programs load torch and leave much in memory.
import json
import os
import pathlib
import select
import subprocess
import sys
import threading
import time

import seeds as tables

_PROGRAM = pathlib.Path(__file__).resolve().parent / "prepare.py"
SILENT_S = 600.0  # without a line, a preparation counts as stuck; each thing that it probes has a limit far below
_LOOK_S = 1.0


class Failed(Exception):
    """The preparation did not answer; the text says how it ended, with the last line of its standard error."""


class _Relay(threading.Thread):
    """Passes standard error on, and keeps its last line and the time of that line."""

    def __init__(self, errors):
        super().__init__()
        self.errors, self.last, self.heard = errors, [], time.monotonic()
        self.start()

    def run(self):
        for line in self.errors:
            self.last, self.heard = [line.rstrip()] if line.strip() else self.last, time.monotonic()
            print(line, end="", file=sys.stderr, flush=True)

    def check(self):
        silent = time.monotonic() - self.heard
        if silent > SILENT_S:
            raise Failed(": ".join([f"preparation gave no sign of life for {silent:.0f} s", *self.last]))


def _read(output, relay):
    """All of the output, while standard error shows that the process works."""
    data = b""
    while True:
        relay.check()
        if select.select([output], [], [], _LOOK_S)[0]:
            piece = os.read(output.fileno(), 1 << 16)
            data += piece
            if not piece:
                return data.decode(errors="replace")


def _exchange(process, request, relay):
    try:
        process.stdin.write(json.dumps(request))
        process.stdin.close()
        return _read(process.stdout, relay)
    except BaseException:
        process.kill()
        raise
    finally:
        process.wait()
        relay.join()


def _nothing_to_do(request):
    """Whether the operators are crawled and there are no programs to read."""
    return not request["against"] and (pathlib.Path(request["cache"]) / tables.file_name()).exists()


def _at_once(request):
    """The answer where nothing is to do."""
    if not request["out"]:
        return {}
    path = pathlib.Path(request["out"]) / "against.jsonl"
    path.write_text("")
    return {"against": str(path), "others": []}


def prepare(request, environment=None):
    """The answer of prepare.py, without that process where nothing is to do."""
    return _at_once(request) if _nothing_to_do(request) else _prepared(request, environment)


def _prepared(request, environment):
    """The answer of prepare.py; relays standard error as it arrives. Raises Failed, and OSError if it cannot start."""
    with subprocess.Popen([sys.executable, "-B", str(_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", env=environment) as process:
        relay = _Relay(process.stderr)
        try:
            answer = _exchange(process, request, relay)
        except BrokenPipeError:
            answer = ""
    if process.returncode:
        raise Failed(": ".join([f"preparation ended with exit status {process.returncode}", *relay.last]))
    return json.loads(answer)
