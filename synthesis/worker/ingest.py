# SPDX-License-Identifier: Apache-2.0
# The last step of the filter: the engine's sandbox ingests each stored task, with its mutation gate.
#
# `ingest.jsonl` gets one line for each task, so that a killed ingest continues where it was.
import pathlib

from journal import Journal, lines_of
from names import task_id
from sandbox_calls import Broken, Unable

NAME = "ingest.jsonl"
_TOGETHER = 16  # tasks of one call for each slot; each call starts processes that load torch


def verdicts(folder):
    """What the sandbox said about each task, by id; {} if it was not asked."""
    path = pathlib.Path(folder) / NAME
    return {line["id"]: line for line in lines_of(path)[1:]} if path.exists() else {}


def judged(records, said):
    """The records of a run, with what the sandbox said about them as their last step."""
    return [_judged(record, said) for record in records]


def _judged(record, said):
    verdict = None if record["reason"] else said.get(task_id(record["row"]))
    if verdict is None:
        return record
    found = {**record, "steps": {**record["steps"], "ingest": verdict["seconds"]}}
    if verdict["reason"]:
        found.update(reason=verdict["reason"], detail=verdict["detail"])
    return found


class Ingest:
    """Ingests tasks, batch after batch."""

    def __init__(self, folder, sandbox, settings, slots, say):
        self.sandbox, self.say, self.together = sandbox, say, _TOGETHER * slots
        self.journal = Journal(pathlib.Path(folder) / NAME, settings)
        self.done = {record["id"]: record["reason"] for record in self.journal.records}
        self.good = None  # a row that the sandbox accepted

    def run(self, rows):
        """Fills the journal. Returns whether it came to the end; False after Ctrl-C. Raises Unable."""
        self.good = next((row for row in rows if self.done.get(row["id"], "unknown") is None), None)
        left = [row for row in rows if row["id"] not in self.done]
        for begin in range(0, len(left), self.together):
            if self._batch(left[begin:begin + self.together]):
                return False
            refused = sum(map(bool, self.done.values()))
            self.say(f"ingest: {len(self.done)} of {len(rows)} tasks, {refused} refused")
        return True

    def _batch(self, rows):
        """Whether Ctrl-C ended it. Tasks without a lasting answer are tried once more, one by one."""
        try:
            answers, interrupted = self.sandbox.take_in(rows)
        except Broken as error:
            self.say(f"ingest: {error}; its {len(rows)} tasks are tried one by one")
            answers, interrupted = {}, False
        for row in rows:
            if row["id"] in answers and not answers[row["id"]]["unsettled"]:
                self._note(row, answers[row["id"]])
        return interrupted or self._one_by_one([row for row in rows if row["id"] not in self.done])

    def _one_by_one(self, rows):
        """The same; a task that ends the program again is refused if the program still works with another one."""
        broken = []
        for row in rows:
            try:
                answers, interrupted = self.sandbox.take_in([row])
            except Broken as error:
                broken.append((row, error))
                continue
            if interrupted:
                return True
            if row["id"] not in answers:
                raise Unable(f"bench tasks said nothing of {row['id']}")
            self._note(row, answers[row["id"]])
        self._refuse(broken)
        return False

    def _refuse(self, broken):
        for row, error in broken:
            self._check_works(f"{row['id']}: {error}")
            self._note(row, {"refusal": str(error), "unsettled": True, "seconds": 0.0})

    def _check_works(self, problem):
        """Raises Unable unless the sandbox accepts a task that it accepted before; that needs no measurement."""
        try:
            if self.good and self.sandbox.take_in([self.good])[0]:
                return
        except Broken:
            pass  # then the task is not at fault
        raise Unable(problem)

    def _note(self, row, answer):
        reason = ("ingest_failed" if answer["unsettled"] else "ingest_refused") if answer["refusal"] else None
        self.good = self.good if reason else row
        self.journal.add({"id": row["id"], "reason": reason, "detail": (answer["refusal"] or "")[:2000],
                          "seconds": answer["seconds"]})
        self.done[row["id"]] = reason

    def close(self):
        """Ends writing."""
        self.journal.close()
