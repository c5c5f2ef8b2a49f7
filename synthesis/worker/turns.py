# SPDX-License-Identifier: Apache-2.0
# Turns on a GPU, by the machine's leases: many work at a time, or one measures. A turn lasts as long as its step,
# whose limits bound it. No call here waits: the worker watches its child meanwhile.
import contextlib
import json
import time

import shared  # noqa: F401  finds leases
import leases

TURN_LOOK_S = 0.005  # between two checks whether a turn is free
NOT_FREE = 75  # EX_TEMPFAIL, the exit status of a worker whose GPU was not free; actors/composer has it, too
PATIENCE_S = 600.0  # for all turns of a candidate; with its limits it is less than a run's limit for a worker's answer
_ALONE = ("time",)  # steps that measure


class Busy(Exception):
    """Others use the GPU; the text names the lock."""


class Turns(leases.Lease):
    """The turns of one process: at most one at a time."""

    def __init__(self, device, folder=leases.FOLDER):
        """`device`: its name in leases."""
        self.path, self.waited = f"{folder}/{device}.lock", 0.0
        super().__init__(leases.opened(self.path))

    def renew(self):
        """Counts the waits of the next candidate from 0."""
        self.waited = 0.0

    def check_patience(self, seconds):
        """Raises Busy if the candidate has waited for too long, including this wait."""
        if self.waited + seconds > PATIENCE_S:
            raise Busy(f"{self.path}: not free while a candidate waited for {PATIENCE_S:.0f} s in all")

    def try_begin(self, step):
        """Whether the turn that the step needs was free, and is taken now. One that measures keeps others from new
        turns from here on."""
        return self.try_alone() if step in _ALONE else self.try_share()


class Steps:
    """The steps of one job. A child names each and waits for the answer, which comes once the step has its turn."""

    def __init__(self, turns, free, answer):
        """`turns`: None if no step waits. `free`: steps that need no turn. `answer()` lets the child continue."""
        self.turns, self.free, self.answer = turns, free, answer
        self.waited, self.pending, self.heard = {}, None, 0

    def follow(self, data):
        """Takes in all that the child has said; False if it asks for a step before the last one began, which ours never
        do. Raises Busy."""
        if self.turns is None:
            return True
        said = _steps_in(data[self.heard:])
        self.heard = data.rfind(b"\n") + 1
        if len(said) + (self.pending is not None) > 1:
            return False
        if said:
            self.turns.end()
            self.pending, self.since = said[0], time.monotonic()
        if self.pending is not None:
            self._try_pending()
        return True

    def _try_pending(self):
        seconds = time.monotonic() - self.since
        if self.pending in self.free or self.turns.try_begin(self.pending):
            self.waited[self.pending] = self.waited.get(self.pending, 0.0) + seconds
            self.turns.waited += seconds
            self.pending = None
            self.answer()
        else:
            self.turns.check_patience(seconds)

    def waited_s(self):
        """Seconds of all waits of the job, up to now."""
        return sum(self.waited.values()) + (time.monotonic() - self.since if self.pending is not None else 0.0)

    def end(self):
        """Ends the last step's turn."""
        if self.turns:
            self.turns.end()


def _steps_in(data):
    """Names of the steps in whole lines; a task may have written the lines."""
    found = []
    for line in data.split(b"\n")[:-1]:
        with contextlib.suppress(ValueError, RecursionError, KeyError, TypeError):
            found.append(str(json.loads(line)["step"]))
    return found
