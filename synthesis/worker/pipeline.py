# SPDX-License-Identifier: Apache-2.0
# Passes candidates to workers and commits their records in the order of the indices.
#
# A worker that dies is replaced, and its candidate counts as rejected. A node that is lost is called again, and another
# worker gets its candidate. What is committed depends only on the candidates, so that the set of tasks does not depend
# on the number of workers, GPUs and nodes. This process never imports torch.
import json
import os
import selectors
import subprocess
import sys
import time

import environments
from owned_folder import OwnedFolder
from remote import Remote, news
from turns import NOT_FREE

_AHEAD = 64  # candidates per worker that may wait for an earlier one, whose compiler may take minutes
_PROGRESS_S = 10.0
_START_S, _ANSWER_S = 300.0, 1800.0  # seconds after which a worker counts as lost
_MOST_DEATHS = 3  # of workers in a row that never answered
_BAD_ROWS_SHOWN = 5
_FRUITLESS = 2000  # rejections in a row, after which a run with endless rows stops


class GaveUp(Exception):
    """Nothing can be accepted; the text says why."""


def _hash(record):
    """The hash of the candidate's text; None if there is none, for example because the text is not Python."""
    return record.get("hash") if record["reason"] else record["row"]["hash"]


class _Process:
    """A worker process and its current index."""

    is_node = False

    def __init__(self, settings, gpu=None):
        self.gpu, self.folder = gpu, OwnedFolder()
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
        self.process = subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environments.of_worker(self.folder.name, gpu))
        self.output, self.index, self.row, self.answered = self.process.stdout, None, None, 0
        self.told = 0  # hashes of accepted tasks that it knows
        self._send({**settings, "folder": self.folder.name})

    def _send(self, value):
        try:
            self.process.stdin.write(json.dumps(value) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # seen as the end of its answers

    def give(self, index, row, hashes):
        self.index, self.row, self.since = index, row, time.monotonic()
        told = news(hashes, self.told)
        self._send({"index": index, "row": row, "hashes": told})
        self.told += len(told)

    def idle(self):
        return self.index is None

    def records(self):
        """Its record, which is ready when the output is readable; None when it ended."""
        line = self.process.stdout.readline()
        if not line:
            return None
        self.index, self.answered = None, self.answered + 1
        return [json.loads(line)]

    def late(self):
        if self.index is None:
            return False
        return time.monotonic() - self.since > (_ANSWER_S if self.answered else _ANSWER_S + _START_S)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


class Pipeline:
    """Runs until `count` tasks are accepted or the rows end. `rows(n)` returns the rows from the nth; None composes."""

    def __init__(self, settings, journal, funnel, rows=None, say=print):
        self.settings, self.journal, self.funnel, self.say = settings, journal, funnel, say
        self.hashes, self.known = [], set()  # of accepted tasks, in their order; the same to look up
        self.fruitless, self.returned = 0, []
        self.deaths, self.suspects = 0, set()  # workers in a row that never answered; what they worked on
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
            self.hashes.append(_hash(record))
            self.known.add(_hash(record))

    def run(self, count, workers, gpus=None, nodes=()):
        """Fills the journal. `gpus`: how many the workers here use in turn. `nodes`: commands that reach workers."""
        selector, processes = selectors.DefaultSelector(), []
        try:
            if not self._done(count):
                processes = [self._start(selector, gpus and k % gpus) for k in range(workers)]
                elsewhere = {k: v for k, v in self.settings.items() if k != "hides_key"}  # which no node has
                processes += [Remote(command, elsewhere) for command in nodes]
            while not self._done(count):
                self._call_nodes(selector, processes)
                self._feed(processes, count)
                if self.ended and self.committed == self.next:
                    break
                self._listen(selector, processes, count)
        finally:
            for process in processes:
                process.end()

    def _call_nodes(self, selector, processes):
        nodes = [p for p in processes if p.is_node]
        for node in nodes:
            if node.start():
                selector.register(node.output, selectors.EVENT_READ, node)
        if len(nodes) == len(processes) and all(node.gone for node in nodes):
            raise GaveUp(f"no worker is left; {nodes[-1].loss()}")

    def _done(self, count):
        if count is not None and self.fruitless >= _FRUITLESS:
            raise GaveUp(f"the last {_FRUITLESS} candidates were all rejected: {self.funnel.line()}")
        return count is not None and self.funnel.accepted >= count

    def _start(self, selector, gpu):
        process = _Process(self.settings, gpu)
        selector.register(process.output, selectors.EVENT_READ, process)
        return process

    def _row(self):
        if self.rows is None:
            return None
        row = next(self.rows, None)
        self.ended = row is None
        return row

    def _is_enough(self, count):
        """Whether the waiting candidates complete the run, unless some repeat a task: a candidate may cost money."""
        waiting = sum(not record["reason"] for record in self.waiting.values())
        return count is not None and self.funnel.accepted + waiting >= count

    def _feed(self, processes, count):
        for process in (p for p in processes if p.idle()):
            if self.returned:
                process.give(*self.returned.pop(0), self.hashes)
            elif not (self.ended or self._is_enough(count)) and self.next - self.committed < _AHEAD * len(processes):
                row = self._row()
                if not self.ended:
                    process.give(self.next, row, self.hashes)
                    self.next += 1

    def _listen(self, selector, processes, count):
        for key, _ in selector.select(1.0):
            process = key.data
            records = process.records()
            if records is None:
                self._replace(selector, processes, process, "the worker died")
            else:
                self.deaths = 0
                self.waiting.update((record["index"], record) for record in records)
        for process in [p for p in processes if p.late()]:
            self._replace(selector, processes, process, "the worker did not answer")
        self._commit(count)

    def _replace(self, selector, processes, process, why):
        selector.unregister(process.output)
        if process.is_node:
            left = process.lose()
            self.returned += [left] if left else []
            return self.say(process.loss())
        process.end()
        processes.remove(process)
        if process.process.returncode == NOT_FREE:
            raise GaveUp("a GPU was not free for long; once it is, the same command goes on")
        if not process.answered:
            self._start_failed(process, why)
        elif process.index is not None:
            self._died(process.index, why)
        processes.append(self._start(selector, process.gpu))

    def _start_failed(self, process, why):
        """Gives the candidate to another worker, once: the machine is more likely at fault than the candidate."""
        self.deaths += 1
        if self.deaths == _MOST_DEATHS or not self.funnel.candidates:
            raise GaveUp(f"{why} before it answered once, with exit status {process.process.returncode}")
        if process.index in self.suspects and self.deaths == 1:  # others have answered since
            self._died(process.index, why)
        elif process.index is not None:
            self.suspects.add(process.index)
            self.returned.append((process.index, process.row))

    def _died(self, index, why):
        self.waiting[index] = {"index": index, "reason": "died", "detail": why, "steps": {}}

    def _commit(self, count):
        while self.committed in self.waiting and not self._done(count):
            record = self.waiting.pop(self.committed)
            self.committed += 1
            if _hash(record) in self.known:  # also a rejected one, whose worker may not have known the task
                record = {"index": record["index"], "reason": "duplicate", "detail": "", "steps": record["steps"]}
            self.journal.add(record)
            self._count(record)
            if record["reason"] == "bad_row" and self.funnel.reasons["bad_row"] <= _BAD_ROWS_SHOWN:
                self.say(f"left out: {record['detail']}")
        if time.monotonic() - self.told > _PROGRESS_S:
            self.told = time.monotonic()
            self.say(f"{self.told - self.began:.0f} s: {self.funnel.line(most=4)}")
