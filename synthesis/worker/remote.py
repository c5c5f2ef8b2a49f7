# SPDX-License-Identifier: Apache-2.0
# The run's side of a worker on another machine (node.py), reached by a command: ssh, srun, kubectl exec.
import json
import os
import pathlib
import time

from connection import Connection
from node import ALIVE_S

SILENT_S = 6 * ALIVE_S  # without a line, a node that was ready counts as lost
READY_S = 600.0  # the same until it is ready
MOST_CALLS = 4  # of a node that was never ready; then it is abandoned
MOST_AWAY_S = 1800.0  # of a node that was ready; then it is abandoned
_FIRST_WAIT_S, _MOST_WAIT_S = 1.0, 60.0  # before a lost node is called again
_MOST_TOLD = 500  # hashes with one candidate: they fit a pipe while the worker loads torch and reads nothing


def packed(settings):
    """Settings for a machine that has none of these files."""
    kept = {k: v for k, v in settings.items() if k not in ("seeds", "against")}
    return {**kept, "seeds_text": pathlib.Path(settings["seeds"]).read_text(),
            "against_text": pathlib.Path(settings["against"]).read_text()}


def news(hashes, told):
    """The next hashes for a worker that knows the first `told`. This is only an early check: the run checks again."""
    return hashes[told:told + _MOST_TOLD]


def _line(value):
    return json.dumps(value).encode() + b"\n"


class Remote:
    """One connection at a time, and its current candidate. No call waits for the node."""

    is_node = True

    def __init__(self, command, settings):
        self.command, self.first = command, _line(packed(settings))
        self.connection, self.ready, self.index, self.row = None, False, None, None
        self.wait, self.start_at, self.answered = _FIRST_WAIT_S, 0.0, 0
        self.calls = 0  # that ended before the node was ready
        self.seen = None  # when a worker last sent a line; None: never
        self.fault, self.why = "", "is being called"  # of this connection; how the last one ended
        self.status = None  # the exit status of the last one's command; None: it had none soon
        self.refused = self.gone = False  # whether it refuses the run; whether it is abandoned

    def start(self):
        """Calls the node if it is time. Returns whether it did."""
        if self.gone or self.connection or time.monotonic() < self.start_at:
            return False
        self.connection = Connection(self.command)
        self.output, self.buffer = self.connection.output, b""
        self.ready, self.heard, self.fault = False, time.monotonic(), ""
        self.told = 0  # hashes of accepted tasks that this worker knows
        self.connection.send(self.first)
        return True

    def idle(self):
        return self.connection is not None and self.ready and self.index is None

    def give(self, index, row, hashes=()):
        self.index, self.row = index, row
        told = news(hashes, self.told)
        self.connection.send(_line({"index": index, "row": row, "hashes": told}))
        self.told += len(told)

    def records(self):
        """Records that have arrived; None at the end of the connection. Call it when the output is readable."""
        data = os.read(self.output.fileno(), 1 << 20)
        if not data:
            return None
        self.heard = time.monotonic()
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        values = [self._value(line) for line in lines]
        if self.ready and None in values:
            self.fault = "wrote a line that no worker writes"
            return None
        found = [value for value in values if value is not None and not self._is_sign(value)]
        if found:
            self.index, self.row, self.wait, self.answered = None, None, _FIRST_WAIT_S, self.answered + 1
        if self.ready:
            self.seen = self.heard
        return None if self.gone else found

    @staticmethod
    def _value(line):
        """A line of the worker; None for another, such as a greeting of the machine before it."""
        try:
            value = json.loads(line)
        except ValueError:
            return None
        return value if isinstance(value, dict) and value.keys() & {"ready", "alive", "refused", "index"} else None

    def _is_sign(self, value):
        if "refused" in value:
            self.refused = self.gone = True
            self.fault = f"refuses the run: {value['refused']}"
        if "ready" in value:
            self.ready = True
        return "index" not in value

    def late(self):
        if self.connection is None:
            return False
        return time.monotonic() - self.heard > (SILENT_S if self.ready else READY_S)

    def lose(self):
        """Ends the connection; the next one follows after a wait, if there is one. The candidate that it had, as
        (index, row)."""
        left = None if self.index is None else (self.index, self.row)
        self.why = self.fault or self._ending()
        self.status = self.connection.process.returncode
        self.end()
        self.calls += self.seen is None
        self.gone = self.refused or self._missed()
        self.start_at, self.wait_now = time.monotonic() + self.wait, self.wait
        self.wait = min(2 * self.wait, _MOST_WAIT_S)
        return left

    def _missed(self):
        if self.seen is None:
            return self.calls == MOST_CALLS
        return time.monotonic() - self.seen >= MOST_AWAY_S

    def _ending(self):
        if not self.late():
            return self.connection.ending()
        wanted = "gave no sign of life" if self.ready else "was not ready"
        return f"{wanted} for {time.monotonic() - self.heard:.0f} s{self.connection.words()}"

    def loss(self):
        """How the lost connection ended and what follows, in words."""
        text = f"{self.command}: {self.why}"
        if self.refused:
            return text
        if not self.gone:
            return f"{text}; it is called again in {self.wait_now:.0f} s"
        missed = f"ready in {self.calls} calls" if self.seen is None else f"there for {MOST_AWAY_S / 60:.0f} minutes"
        return f"{text}; the node is abandoned: no worker was {missed}"

    def end(self):
        """Hangs up; the worker there then ends. Does not wait for it."""
        self.index = self.row = None
        self.ready = False
        if self.connection is None:
            return
        self.connection.hang_up()
        self.connection = None
