# SPDX-License-Identifier: Apache-2.0
# `synth worker`: composes or filters candidates for a run on another machine, through standard input and output.
#
# It receives one JSON object per line: the settings first, with the texts of the files that a worker reads, then
# candidates, as worker.py does. It sends {"ready": versions} or {"refused": why}, one record for each candidate, and
# {"alive": true} every few seconds, to distinguish a machine that hangs from a slow candidate. It ends at the end of
# its input and removes its files, however the run ended.
import json
import os
import pathlib
import selectors
import subprocess
import sys
import time

import environments
import gpus
import seeds as tables
from owned_folder import OwnedFolder
from turns import NOT_FREE

ALIVE_S = 5.0
_ANSWER_S = 1800.0  # after which the worker counts as dead
_MOST_DEATHS = 3  # of workers in a row
_FILES = {"seeds": "seeds.json", "against": "against.jsonl"}


class Refused(Exception):
    """This machine cannot work for the run; the text says why."""


class _NotFree(Exception):
    """The GPU was not free. Another worker of the run gets the candidate."""


def _send(value):
    data = json.dumps(value).encode() + b"\n"
    while data:
        data = data[os.write(1, data):]


def _check(settings, gpu):
    """Raises Refused if this machine cannot work for such a run."""
    theirs, own = settings["versions"], tables.versions()
    if theirs != own:
        raise Refused(f"versions {own} here, {theirs} at the run; other versions compose other tasks")
    try:
        visible = None if gpu is None else environments.visible(gpu)
    except ValueError as error:
        raise Refused(f"{os.uname().nodename}: --gpu {gpu}: {error}") from None
    if settings["device"] == "cuda" and (lack := gpus.lack(1, visible)):
        raise Refused(f"{os.uname().nodename}: {lack}")


def _unpacked(settings, folder):
    """The settings with the names of files in place of their texts."""
    for name, file in _FILES.items():
        path = pathlib.Path(folder) / file
        path.write_text(settings.pop(f"{name}_text"))
        settings[name] = str(path)
    return settings


class _Worker:
    """The process that runs candidates, and the current candidate."""

    def __init__(self, settings, gpu):
        self.folder = OwnedFolder()
        script = pathlib.Path(__file__).resolve().parent / "worker.py"
        self.process = subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environments.of_worker(self.folder.name, gpu))
        self.index, self.since = None, 0.0
        self.give({**settings, "folder": self.folder.name})

    def give(self, value):
        self.index, self.since = value.get("index"), time.monotonic()
        try:
            self.process.stdin.write(json.dumps(value).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # seen as the end of its answers

    def answer(self):
        """Its record, or that of a candidate during which it died."""
        line = self.process.stdout.readline()
        record = json.loads(line) if line else self.died("the worker died")
        self.index = None
        return record

    def died(self, why):
        return {"index": self.index, "reason": "died", "detail": why, "steps": {}}

    def late(self):
        return self.index is not None and time.monotonic() - self.since > _ANSWER_S

    def end(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


class _Node:
    """Relays until the run closes standard input."""

    def __init__(self, gpu):
        self.gpu, self.buffer, self.deaths = gpu, b"", 0
        self.lines = []

    def _read(self):
        """False at the end of the input."""
        data = os.read(0, 1 << 20)
        self.buffer += data
        *whole, self.buffer = self.buffer.split(b"\n")
        self.lines += whole
        return bool(data)

    def _first(self):
        while not self.lines:
            if not self._read():
                return None
        return json.loads(self.lines.pop(0))

    def run(self):
        settings = self._first()
        if settings is None:
            return
        _check(settings, self.gpu)
        folder = OwnedFolder()
        try:
            self._work(_unpacked(settings, folder.name))
        finally:
            folder.cleanup()

    def _work(self, settings):
        self.settings, self.worker = settings, _Worker(settings, self.gpu)
        try:
            _send({"ready": settings["versions"]})
            self._serve()
        finally:
            self.worker.end()

    def _serve(self):
        told = time.monotonic()
        while True:
            selector = selectors.DefaultSelector()
            for source in (0, self.worker.process.stdout):
                selector.register(source, selectors.EVENT_READ)
            events = [key.fileobj for key, _ in selector.select(ALIVE_S)]
            selector.close()
            if 0 in events and not self._read():
                return
            if self.worker.process.stdout in events:
                self._answer(self.worker.answer())
            elif self.worker.late():
                self._answer(self.worker.died("the worker did not answer"))
            if self.lines and self.worker.index is None:
                self.worker.give(json.loads(self.lines.pop(0)))
            if time.monotonic() - told >= ALIVE_S:
                told = time.monotonic()
                _send({"alive": True})

    def _answer(self, record):
        if record.get("reason") != "died":
            self.deaths = 0
            return _send(record)
        self.deaths += 1
        self.worker.end()
        if self.worker.process.returncode == NOT_FREE:
            raise _NotFree
        if record["index"] is None or self.deaths == _MOST_DEATHS:
            raise Refused(f"{self.deaths} workers ended in a row, the last with exit status "
                          f"{self.worker.process.returncode}")
        _send(record)
        self.worker = _Worker(self.settings, self.gpu)


def serve(gpu):
    """The exit status of `synth worker`."""
    try:
        _Node(gpu).run()
    except Refused as error:
        print(f"synth worker: {error}", file=sys.stderr, flush=True)
        _send({"refused": str(error)})
        return 2
    except _NotFree:
        return NOT_FREE  # the worker has reported why
    except BrokenPipeError:
        print("synth worker: the run has gone", file=sys.stderr, flush=True)
        return 3
    except (ValueError, KeyError) as error:
        print(f"synth worker: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return 3
    return 0
