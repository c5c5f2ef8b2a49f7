# SPDX-License-Identifier: Apache-2.0
# Hands candidates to workers and commits their records in the order of the indices.
#
# A worker that dies is replaced, and its candidate counts as rejected. What is committed depends on the candidates
# alone, so that the set of tasks does not depend on the number of workers. This process never imports torch.
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time

_AHEAD = 8  # candidates per worker that may wait for an earlier one
_PROGRESS_S = 10.0
_START_S, _ANSWER_S = 300.0, 1800.0  # seconds after which a worker counts as lost
_FRUITLESS = 2000  # rejections one after another, after which a run without an end of rows gives up


class GaveUp(Exception):
    """Nothing can be accepted; the text says why."""


class _Process:
    """A worker process and the index that it works on."""

    def __init__(self, settings):
        self.folder = tempfile.TemporaryDirectory(prefix="warpsmith-synth-")
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
        self.process = subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment)
        self.index, self.answered = None, 0
        self._send({**settings, "folder": self.folder.name})

    def _send(self, value):
        try:
            self.process.stdin.write(json.dumps(value) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # seen as the end of its answers

    def give(self, index, row):
        self.index, self.since = index, time.monotonic()
        self._send({"index": index, "row": row})

    def late(self):
        return time.monotonic() - self.since > (_ANSWER_S if self.answered else _ANSWER_S + _START_S)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


class Pipeline:
    """Runs until `count` tasks are accepted or the rows end. `rows(n)` gives the rows from the nth; None composes."""

    def __init__(self, settings, journal, funnel, rows=None, say=print):
        self.settings, self.journal, self.funnel, self.say = settings, journal, funnel, say
        self.hashes, self.fruitless = set(), 0
        for record in journal.records:
            self._count(record)
        self.next = self.committed = len(journal.records)
        self.rows = rows and rows(self.next)
        self.waiting, self.ended = {}, False
        self.began, self.told = time.monotonic(), time.monotonic()

    def _count(self, record):
        self.funnel.add(record)
        self.fruitless = self.fruitless + 1 if record["reason"] else 0
        if not record["reason"]:
            self.hashes.add(record["row"]["hash"])

    def run(self, count, workers):
        """Fills the journal."""
        selector, processes = selectors.DefaultSelector(), []
        try:
            if not self._done(count):
                processes = [self._start(selector) for _ in range(workers)]
            while not self._done(count):
                self._feed(processes, workers)
                if self.ended and self.committed == self.next:
                    break
                self._listen(selector, processes, count)
        finally:
            for process in processes:
                process.end()

    def _done(self, count):
        if count is not None and self.fruitless >= _FRUITLESS:
            raise GaveUp(f"the last {_FRUITLESS} candidates were all rejected: {self.funnel.line()}")
        return count is not None and self.funnel.accepted >= count

    def _start(self, selector):
        process = _Process(self.settings)
        selector.register(process.process.stdout, selectors.EVENT_READ, process)
        return process

    def _row(self):
        if self.rows is None:
            return None
        row = next(self.rows, None)
        self.ended = row is None
        return row

    def _feed(self, processes, workers):
        for process in processes:
            if process.index is None and not self.ended and self.next - self.committed < _AHEAD * workers:
                row = self._row()
                if not self.ended:
                    process.give(self.next, row)
                    self.next += 1

    def _listen(self, selector, processes, count):
        for key, _ in selector.select(1.0):
            process = key.data
            line = process.process.stdout.readline()
            if line:
                process.index, process.answered = None, process.answered + 1
                record = json.loads(line)
                self.waiting[record["index"]] = record
            else:
                self._replace(selector, processes, process, "the worker died")
        for process in [p for p in processes if p.index is not None and p.late()]:
            self._replace(selector, processes, process, "the worker did not answer")
        self._commit(count)

    def _replace(self, selector, processes, process, why):
        selector.unregister(process.process.stdout)
        process.end()
        if not process.answered and not self.funnel.candidates:
            raise GaveUp(f"{why} before it answered once, with exit status {process.process.returncode}")
        if process.index is not None:
            self.waiting[process.index] = {"index": process.index, "reason": "died", "detail": why, "steps": {}}
        processes[processes.index(process)] = self._start(selector)

    def _commit(self, count):
        while self.committed in self.waiting and not self._done(count):
            record = self.waiting.pop(self.committed)
            self.committed += 1
            if not record["reason"] and record["row"]["hash"] in self.hashes:
                record = {"index": record["index"], "reason": "duplicate", "detail": "", "steps": record["steps"]}
            self.journal.add(record)
            self._count(record)
        if time.monotonic() - self.told > _PROGRESS_S:
            self.told = time.monotonic()
            self.say(f"{self.told - self.began:.0f} s: {self.funnel.line()}")
