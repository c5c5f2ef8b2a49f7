# SPDX-License-Identifier: Apache-2.0
# Composes for the engine: one candidate per request, through a socket of frames (descriptor 3). With a `node` in the
# settings, a worker on another machine does the work, and this process ends when that is lost, with exit status 2 where
# the machine refuses the run. With `llm`, a language model writes the candidates (writing.py), and the worker is a
# process apart; exit status 2 says that the model will write no more. Exit status 75 says that the GPU was not free.
#
# The first frame holds the settings, and the first answer says that they are in force. A frame is u32 magic, u32 0,
# u64 length, then JSON. The engine sends {"index": n} and gets a record. Before it, a language model's candidate may
# say {"ask": prompt}, which the engine answers by {"answer": text} or {"failed": why}.
import argparse
import json
import os
import pathlib
import select
import shlex
import socket
import struct
import sys
import time

import arguments
import environments
import seeds as tables
import windows
from pipeline import GaveUp
from preparation import Failed, prepare
from remote import Remote
from turns import NOT_FREE, Busy
from writing import Writer

_MAGIC, _HEADER = 0x314D5246, struct.Struct("<IIQ")
_MOST = 1 << 22  # bytes of a frame
_REFUSED = 2


class _Engine:
    """The engine's end of the socket; this process ends with it."""

    def __init__(self, descriptor):
        self.socket = socket.socket(fileno=descriptor)
        self.socket.setblocking(True)

    def _exactly(self, size):
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                sys.exit(0)
            data += part
        return bytes(data)

    def receive(self):
        magic, reserved, length = _HEADER.unpack(self._exactly(_HEADER.size))
        if magic != _MAGIC or reserved or length > _MOST:
            sys.exit(f"serve: a frame with magic {magic:#x} and length {length}")
        return json.loads(self._exactly(length))

    def send(self, value):
        data = json.dumps(value).encode()
        self.socket.sendall(_HEADER.pack(_MAGIC, 0, len(data)) + data)


def _prepare(settings):
    """Crawls, and reads what tasks stay away from."""
    request = {"cache": settings["cache"], "against": settings["against"], "out": settings["folder"]}
    try:
        return prepare(request)["against"]
    except Failed as error:
        sys.exit(f"serve: {error}")


class _Away:
    """A worker on another machine, or apart on this one. Ends this process when it is lost."""

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
    """What `synth --shares` makes of the text; None without one."""
    try:
        return arguments.shares_of(text) if text else None
    except argparse.ArgumentTypeError as error:
        sys.exit(f"serve: synthesis.compose.shares: {error}")


def _completed(settings):
    """Everything that a worker needs. The engine leaves out what is not set."""
    window = settings.get("window") or windows.usual(settings["device"])
    return {**settings, "against": _prepare(settings), "window": window, "compile": settings.get("compile", "none"),
            "shares": _shares(settings.get("shares")),
            "seeds": str(pathlib.Path(settings["cache"]) / tables.file_name())}


def _check_window(settings):
    """Ends this process where no composed task can lie in the window."""
    names = [f"synthesis.compose.{end}_ms" for end in ("min", "max")]
    if wrong := windows.complaint(settings["window"], settings["device"] == "cuda", *names):
        print(f"serve: {wrong}", file=sys.stderr, flush=True)
        sys.exit(_REFUSED)


def _apart(settings, hides_key):
    """The settings of a worker apart, unless it is on a node: a stranger's tasks must not see this process's memory."""
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
    engine = _Engine(3)
    settings = engine.receive()
    given = settings.pop("llm", None)
    writer = None if given is None else Writer(given, engine)  # first, since it takes the key from the environment
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
    main()
