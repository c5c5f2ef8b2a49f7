# SPDX-License-Identifier: Apache-2.0
# The reference worker: a jailed process that holds torch and runs tasks, never a candidate.
#
# Speaks frames (u32 magic, u32 0, u64 length, then JSON) on the socket that is descriptor 3. Each request gets one
# answer: {"ok": true, ...} or {"ok": false, "error": text, "refused": bool}.
import gc
import json
import os
import platform
import socket
import struct
import sys
import time
import warnings

import torch

from mutants import lower_precisions, mutants_of
from orders import honest_orders
from session import Session
from task import Refused, Task

_MAGIC, _HEADER = 0x314D5246, struct.Struct("<IIQ")
_MAX_FRAME = 16 << 20
_MAX_TASKS = 64


class Peer:
    def __init__(self, fd):
        self.socket = socket.socket(fileno=fd)
        self.socket.setblocking(True)

    def _exactly(self, size):
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(min(size - len(data), 1 << 20))
            if not part:
                sys.exit(0)  # the verifier ended: so do we
            data += part
        return bytes(data)

    def receive(self):
        magic, reserved, length = _HEADER.unpack(self._exactly(_HEADER.size))
        if magic != _MAGIC or reserved != 0 or length > _MAX_FRAME:
            raise SystemExit(f"frame: magic {magic:#x}, length {length}")
        return json.loads(self._exactly(length))

    def send(self, answer):
        text = json.dumps(answer).encode()
        self.socket.sendall(_HEADER.pack(_MAGIC, 0, len(text)) + text)

    def descriptors(self, count):
        _, fds, _, _ = socket.recv_fds(self.socket, 1, count)
        if len(fds) != count:
            raise RuntimeError(f"expected {count} descriptors, got {len(fds)}")
        return fds


class Worker:
    def __init__(self, peer):
        self.peer = peer
        self.tasks = {}  # key -> (Task, signature), the least recently used first

    def hello(self, request):
        return {"torch": torch.__version__, "python": platform.python_version(), "pid": os.getpid(),
                "threads": torch.get_num_threads(), "capability": torch.backends.cpu.get_cpu_capability()}

    def load(self, request):
        key = request["key"]
        if key in self.tasks:
            self.tasks[key] = self.tasks.pop(key)
        else:
            task = Task(request["code"])
            self.tasks[key] = (task, task.signature())
            while len(self.tasks) > _MAX_TASKS:
                self.tasks.pop(next(iter(self.tasks)))
        task, signature = self.tasks[key]
        return {"signature": signature, "flops": task.flops,
                "mutants": list(mutants_of(task)), "lower_precisions": list(lower_precisions()),
                "honest_orders": list(honest_orders()), "compiled": task.compiled is not None}

    def compile(self, request):
        task, _ = self.tasks[request["key"]]
        began = time.monotonic()
        if task.compiled is None:
            task.compiled = self._compiled(task)
            # What torch.compile leaves behind is not looked through again by every later collection.
            gc.collect()
            gc.freeze()
        return {"seconds": time.monotonic() - began}

    def _compiled(self, task):
        compiled = torch.compile(task.model, dynamic=False)
        try:
            with torch.no_grad():
                parameters = [t.clone() for _, t in task.named]
                task.set_parameters(task.named, parameters)
                result = compiled(*task.sample)
                right = task.model(*task.sample)
        except Exception as error:
            raise Refused(f"torch.compile raised {type(error).__name__}: {str(error).strip().splitlines()[0][:200]}")
        outs, rights = ([v] if isinstance(v, torch.Tensor) else list(v) for v in (result, right))
        for i, (a, b) in enumerate(zip(outs, rights)):
            if not torch.allclose(a.double(), b.double(), rtol=1e-2, atol=1e-2, equal_nan=True):
                raise Refused(f"torch.compile's output {i} differs from eager's")
        return compiled

    def enter(self, request):
        fds = self.peer.descriptors(4)  # control, inputs, outputs, result
        try:
            task, signature = self.tasks[request["key"]]
            session = Session(task, signature, request, fds[1:])
            self.peer.send({"ok": True})
            session.stay(fds[0])
        finally:
            for fd in fds:
                os.close(fd)
        return {"error_seen": session.error}

    def answer(self, request):
        handler = {"hello": self.hello, "load": self.load, "compile": self.compile, "enter": self.enter}
        try:
            return {"ok": True, **handler[request["op"]](request)}
        except Refused as error:
            return {"ok": False, "refused": True, "error": str(error)}
        except Exception as error:
            return {"ok": False, "refused": False, "error": f"{type(error).__name__}: {error}"}


def main():
    # Until here standard error says why a start failed; a task's own prints go nowhere.
    silence = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    peer = Peer(3)
    worker = Worker(peer)
    while True:
        peer.send(worker.answer(peer.receive()))


if __name__ == "__main__":
    main()
