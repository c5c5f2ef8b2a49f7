# SPDX-License-Identifier: Apache-2.0
# The reference worker: a jailed process with torch that runs tasks, never a candidate.
#
# It receives frames (runtime/python/frames.py) on the socket at descriptor 3 and sends one answer for each request:
# {"ok": true, ...} or {"ok": false, "error": text, "refused": bool}. {..., "passing": true} marks a task that was
# refused for lack of memory that other processes on the device may free again. {..., "ending": true}: this process
# ends after the answer.
import contextlib
import _thread
import gc
import os
import platform
import sys
import time
import warnings

import quick_imports  # before torch
import torch

import baselines
import kernel_profile
import outline
import signatures
from device import LANES, Cpu, NoDevice, device_named
from frames import Peer
from mutants import lower_precisions
from orders import honest_orders
from refusals import DoesNotFit, Refused, words_of
from session import Session
from task import Task
from turns import Turns

_MAX_TASKS = 64
_LEAVE_S, _LOOK_S = 1.0, 0.01  # seconds that a task's threads may take to end, and the interval of checks


def _still_running(threads):
    """Whether more than `threads` Python threads are still running after a while."""
    end = time.monotonic() + _LEAVE_S
    while _thread._count() > threads and time.monotonic() < end:
        time.sleep(_LOOK_S)
    return _thread._count() > threads


class Worker:
    def __init__(self, peer):
        self.peer = peer
        self.device = Cpu()
        self.tasks = {}  # maps key to (Task, signature), least recently used first
        self.spoiled = False  # an earlier task left threads running, which disturb later times

    def hello(self, request):
        device = device_named(request.get("device", "cpu"))
        facts = device.facts()
        self.device = device
        device.compile_cores = request.get("compile_cores", [])
        if "turns" in request:
            device.turns = Turns(request["turns"])
        if device.remote:
            signatures.MAX_ELEMENTS = 2**62  # the device's memory is the limit
        return {"torch": torch.__version__, "python": platform.python_version(), "pid": os.getpid(),
                "threads": torch.get_num_threads(), **facts}

    def _ready(self, request):
        """The task and its signature, loaded if necessary."""
        key, lane = request["key"], request.get("lane", LANES[0])
        if lane not in LANES:
            raise ValueError(f'no lane is called "{lane}": {" or ".join(LANES)}')
        if key in self.tasks and self.tasks[key][0].lane == lane:
            self.tasks[key] = self.tasks.pop(key)
        else:
            self.tasks.pop(key, None)  # may have the other lane
            self.tasks[key] = self._loaded(request["code"], lane, request.get("sets", 1))
            while len(self.tasks) > _MAX_TASKS:
                self.tasks.pop(next(iter(self.tasks)))
        return self.tasks[key]

    def load(self, request):
        task, signature = self._ready(request)
        return {"signature": signature, "constants": task.constants(), "flops": task.flops,
                "mutants": list(task.mutants), "lower_precisions": list(lower_precisions()),
                "honest_orders": list(honest_orders()), "insensitive": ", ".join(task.insensitive),
                "compiled": "default" in task.baselines,
                "worker_bytes": task.private_bytes(signature) if self.device.remote else 0}

    def signature(self, request):
        """Everything that a launch plan needs, also for a task that is too large for this device."""
        large = None if self.device.remote else outline.beyond(request["code"], signatures.MAX_ELEMENTS)
        return {"signature": large or self._ready(request)[1]}

    def size(self, request):
        return {"bytes": outline.size(request["code"])}

    def _loaded(self, code, lane, sets):
        threads = _thread._count()
        try:
            task = Task(code, self.device, lane)
            signature = task.signature()
            task.settle(signature, sets)
        finally:
            self.spoiled = _still_running(threads)
        if self.spoiled:
            raise Refused("threads that it started outlive its calls")
        return task, signature

    def compile(self, request):
        task, _ = self.tasks[request["key"]]
        began = time.monotonic()
        if "without" in request:
            baselines.without_compile(task, request["without"])
        ready, reason = baselines.ready(task, request.get("which", "default"), request.get("within"))
        return {"seconds": time.monotonic() - began, "ready": ready, "reason": reason}

    def profile(self, request):
        return kernel_profile.profile(self.tasks[request["key"]][0])

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
        handler = {"hello": self.hello, "load": self.load, "signature": self.signature, "size": self.size,
                   "compile": self.compile, "enter": self.enter, "profile": self.profile}
        try:
            return {"ok": True, **handler[request["op"]](request)}
        except (Refused, torch.OutOfMemoryError) as error:
            passing = (request["op"] in ("load", "enter")
                       and isinstance(error, (DoesNotFit, torch.OutOfMemoryError)))
            answer = {"ok": False, "refused": True, "passing": passing, "error": str(error)[:1000]}
        except NoDevice as error:
            answer = {"ok": False, "refused": False, "error": str(error)}
        except Exception as error:
            answer = {"ok": False, "refused": False, "error": f"{type(error).__name__}: {words_of(error, 1000)}"}
        gc.collect()  # outside the handlers, since an exception keeps its frames alive
        with contextlib.suppress(Exception):  # a faulted device reports itself at the next request
            self.device.tidy()
        return {**answer, "ending": self.spoiled}


def main():
    # Up to here standard error carries the reason of a failed start; a task's prints are discarded.
    silence = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    quick_imports.done()
    peer = Peer(3)
    worker = Worker(peer)
    with contextlib.suppress(EOFError):  # the verifier ended
        while True:
            peer.send(worker.answer(peer.receive()))
            if worker.spoiled:
                os._exit(0)


if __name__ == "__main__":
    main()
