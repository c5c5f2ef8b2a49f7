# SPDX-License-Identifier: Apache-2.0
# The run's side of a worker on another machine (node.py), which a command reaches: ssh, srun, kubectl exec.
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

from node import ALIVE_S

SILENT_S = 6 * ALIVE_S  # without a line, a node that was ready counts as lost
_READY_S = 600.0  # the same until it is ready
_FIRST_WAIT_S, _MOST_WAIT_S = 1.0, 60.0  # before a lost node is called again


def packed(settings):
    """Settings for a machine that has none of our files."""
    kept = {k: v for k, v in settings.items() if k not in ("seeds", "against")}
    return {**kept, "seeds_text": pathlib.Path(settings["seeds"]).read_text(),
            "against_text": pathlib.Path(settings["against"]).read_text()}


class Remote:
    """One connection at a time, and the candidate that it works on. No call waits for the node."""

    is_node = True

    def __init__(self, command, settings):
        self.command, self.first = command, json.dumps(packed(settings)).encode() + b"\n"
        self.process, self.index, self.row = None, None, None
        self.wait, self.start_at, self.answered = _FIRST_WAIT_S, 0.0, 0

    def start(self):
        """Calls the node if it is time to. Whether it did."""
        if self.process or time.monotonic() < self.start_at:
            return False
        self.process = subprocess.Popen(["/bin/sh", "-c", self.command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        start_new_session=True, bufsize=0)
        self.output, self.buffer = self.process.stdout, b""
        self.ready, self.heard = False, time.monotonic()
        threading.Thread(target=self._send, args=(self.process, self.first), daemon=True).start()
        return True

    @staticmethod
    def _send(process, data):
        try:
            while data:
                data = data[process.stdin.write(data):]
        except (OSError, ValueError):
            pass  # seen as the end of its answers

    def idle(self):
        return self.process is not None and self.ready and self.index is None

    def give(self, index, row):
        self.index, self.row = index, row
        self._send(self.process, json.dumps({"index": index, "row": row}).encode() + b"\n")

    def records(self):
        """Records that have arrived; None at the end of the connection. Call it when the output is readable."""
        data = os.read(self.output.fileno(), 1 << 20)
        if not data:
            return None
        self.heard = time.monotonic()
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        values = [self._value(line) for line in lines]
        if self.ready and None in values:
            return None  # something else speaks there
        found = [value for value in values if value is not None and not self._is_sign(value)]
        if found:
            self.index, self.row, self.wait, self.answered = None, None, _FIRST_WAIT_S, self.answered + 1
        return found

    @staticmethod
    def _value(line):
        """A line of the worker; None for another, such as a greeting of the machine before it."""
        try:
            value = json.loads(line)
        except ValueError:
            return None
        return value if isinstance(value, dict) and value.keys() & {"ready", "alive", "index"} else None

    def _is_sign(self, value):
        self.ready = self.ready or "ready" in value
        return "ready" in value or "alive" in value

    def late(self):
        if self.process is None:
            return False
        return time.monotonic() - self.heard > (SILENT_S if self.ready else _READY_S)

    def lose(self):
        """Ends the connection; the next one follows after a wait. The candidate that it had, as (index, row)."""
        left = None if self.index is None else (self.index, self.row)
        self.end()
        self.start_at, self.wait = time.monotonic() + self.wait, min(2 * self.wait, _MOST_WAIT_S)
        return left

    def end(self):
        self.index = self.row = None
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process = None
