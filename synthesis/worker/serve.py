# SPDX-License-Identifier: Apache-2.0
# Composes for the engine: one candidate per request, through a socket of frames (descriptor 3). With a `node` in the
# settings, a worker on another machine does the work, and this process ends when that is lost, with exit status 2 if
# the machine refuses the run. With `llm`, a language model writes the candidates (writing.py), and the worker is a
# separate process; exit status 2 says that the model will write no more. Exit status 75 says that the GPU was not free.
#
# The first frame contains the settings, and the first answer says that they are in force. The engine sends {"index": n}
# and gets a record. Before the record, a language model's candidate may say {"ask": prompt}, which the engine answers
# by {"answer": text} or {"failed": why}. This process ends once the engine closes the socket.
import argparse
import contextlib
import os
import pathlib
import select
import shlex
import sys
import time

import arguments
import environments
import seeds as tables
import shared  # noqa: F401  finds frames
import windows
from frames import Peer
from pipeline import GaveUp
from preparation import Failed, prepare
from remote import Remote
from turns import NOT_FREE, Busy
from writing import Writer

_REFUSED = 2


def _prepare(settings):
    """Crawls, and reads the programs that tasks must not resemble."""
    request = {"cache": settings["cache"], "against": settings["against"], "out": settings["folder"]}
    try:
        return prepare(request)["against"]
    except Failed as error:
        sys.exit(f"serve: {error}")


class _Away:
    """A worker on another machine, or a separate one on this machine. Ends this process when it is lost."""

    def __init__(self, settings):
        self.node = Remote(settings.pop("node"), {**settings, "versions": tables.versions()})
        self.node.start()
        while not self.node.ready:
            self._listen()

    def _listen(self, seconds=1.0):
        """The records that arrive within this time."""
        found = []
        if select.select([self.node.output], [], [], seconds)[0]:
            found = self.node.records()
        if found is None or self.node.late():
            self._end()
        return found

    def _end(self):
        self.node.lose()
        print(f"serve: {self.node.command}: {self.node.why}", file=sys.stderr, flush=True)
        sys.exit(_REFUSED if self.node.refused else NOT_FREE if self.node.status == NOT_FREE else 1)

    def record(self, index, row):
        while select.select([self.node.output], [], [], 0)[0]:
            self._listen()  # signs of life since the last candidate
        self.node.heard = time.monotonic()
        self.node.give(index, row)
        while True:
            for record in self._listen():
                return record


def _shares(text):
    """The shares that `synth --shares` reads from the text; None without one."""
    try:
        return arguments.shares_of(text) if text else None
    except argparse.ArgumentTypeError as error:
        sys.exit(f"serve: synthesis.compose.shares: {error}")


def _completed(settings):
    """Everything that a worker needs. The engine omits what is not set."""
    window = settings.get("window") or windows.usual(settings["device"])
    return {**settings, "against": _prepare(settings), "window": window, "compile": settings.get("compile", "none"),
            "shares": _shares(settings.get("shares")),
            "seeds": str(pathlib.Path(settings["cache"]) / tables.file_name())}


def _check_window(settings):
    """Ends this process if no composed task can be in the window."""
    names = [f"synthesis.compose.{end}_ms" for end in ("min", "max")]
    if wrong := windows.complaint(settings["window"], settings["device"] == "cuda", *names):
        print(f"serve: {wrong}", file=sys.stderr, flush=True)
        sys.exit(_REFUSED)


def _apart(settings, hides_key):
    """The settings of a separate worker that is not on a node: untrusted tasks must not see this process's memory."""
    if "node" in settings:
        return settings
    program = [sys.executable, "-B", str(pathlib.Path(__file__).with_name("main.py")), "worker"]
    return {**settings, "node": shlex.join(program), "hides_key": hides_key}


def _answer(worker, writer, index):
    """One record; an accepted row gets the name of its task."""
    from names import task_id
    try:
        record = writer.record(worker, index) if writer else worker.record(index, None)
    except GaveUp as error:
        print(f"serve: synthesis.compose: {error}", file=sys.stderr, flush=True)
        sys.exit(_REFUSED)
    except Busy as error:
        print(f"serve: {error}", file=sys.stderr, flush=True)
        sys.exit(NOT_FREE)
    if not record["reason"]:
        record["row"]["id"] = task_id(record["row"])
    return record


def main():
    """Serves until the engine ends."""
    engine = Peer(3)
    settings = engine.receive()
    given = settings.pop("llm", None)
    writer = None if given is None else Writer(given, engine)  # first, since it removes the key from the environment
    os.nice(19)  # the cores are for training
    os.makedirs(settings["folder"], exist_ok=True)
    os.environ.update(environments.of_worker(settings["folder"], settings.get("gpu")))
    settings = _completed(settings)
    if writer:
        writer.begin(tables.from_json(pathlib.Path(settings["seeds"]).read_text()), settings)
        settings = _apart(settings, hides_key="key_env" in given)
    else:
        _check_window(settings)
    if "node" in settings:
        found = _Away(settings)
    else:
        import worker  # loads torch, for the right GPU
        found = worker.ready(settings)
    engine.send({"versions": tables.versions()})
    while True:
        engine.send(_answer(found, writer, engine.receive()["index"]))


if __name__ == "__main__":
    with contextlib.suppress(EOFError):
        main()
