# SPDX-License-Identifier: Apache-2.0
# Counts how the candidates ended, with the seconds of each step.
import collections

from reasons import REASONS

STEPS = ("compose", "parse", "hash", "similarity", "load", "start", "eager", "determinism", "outputs", "time", "check",
         "compile", "turn", "ingest")  # start and turn: on a GPU


class Funnel:
    """Counts records; the same whatever the number of workers."""

    def __init__(self):
        self.candidates, self.reasons, self.seconds = 0, collections.Counter(), collections.Counter()

    def add(self, record):
        """Counts one candidate."""
        self.candidates += 1
        if record["reason"]:
            self.reasons[record["reason"]] += 1
        self.seconds.update(record["steps"])

    @property
    def accepted(self):
        return self.candidates - sum(self.reasons.values())

    def line(self, most=None):
        """One line of progress, with the `most` frequent reasons; by default all of them."""
        rejected = ", ".join(f"{count} {reason}" for reason, count in self.reasons.most_common(most))
        line = f"{self.accepted} accepted of {self.candidates} candidates"
        return f"{line}; rejected: {rejected}" if rejected else line

    def as_dict(self):
        """For funnel.json."""
        return {"candidates": self.candidates, "accepted": self.accepted,
                "rejected": {r: self.reasons[r] for r in REASONS if self.reasons[r]},
                "seconds": {s: round(self.seconds[s], 3) for s in STEPS if s in self.seconds}}
