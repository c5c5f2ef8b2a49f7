# SPDX-License-Identifier: Apache-2.0
# Starts prepare.py in a process of its own, since crawling and reading programs load torch and leave much in memory.
import json
import pathlib
import subprocess
import sys
import threading

_PROGRAM = pathlib.Path(__file__).resolve().parent / "prepare.py"


class Failed(Exception):
    """The preparation gave no answer; the text says how it ended, with the last line of its standard error."""


def _relay(errors, last):
    for line in errors:
        last[:] = [line.rstrip()] if line.strip() else last
        print(line, end="", file=sys.stderr, flush=True)


def _exchange(process, request, last):
    relay = threading.Thread(target=_relay, args=(process.stderr, last))
    relay.start()
    try:
        process.stdin.write(json.dumps(request))
        process.stdin.close()
        return process.stdout.read()
    except BaseException:
        process.kill()
        raise
    finally:
        process.wait()
        relay.join()


def prepare(request, environment=None):
    """Its answer; standard error is relayed as it comes. Raises Failed, and OSError where it cannot be started."""
    last = []
    with subprocess.Popen([sys.executable, "-B", str(_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", env=environment) as process:
        try:
            answer = _exchange(process, request, last)
        except BrokenPipeError:
            answer = ""
    if process.returncode:
        raise Failed(": ".join([f"preparation ended with exit status {process.returncode}", *last]))
    return json.loads(answer)
