# SPDX-License-Identifier: Apache-2.0
# The process of one candidate of contract `host`: it starts before its candidate is known and serves no other.
#
# It receives frames (frames.py) on descriptor 3: `hello`, then `enter` with the submission, the task's text and the
# shared memory. From then on it answers only the control page (commit.py). It has no verdict, no clock that counts,
# no expected value and no seed, so a candidate that tampers with it gains nothing.
import contextlib
import gc
import os
import platform
import warnings

import quick_imports  # before torch
import torch

import commit
import host_task
from device import Cuda, NoDevice, device_named
from frames import Peer
from host_candidate import Candidate, Places
from host_extensions import place_files

FOLDER = "/tmp/candidate"
FILTER = "/filter.bpf"


class Runner:
    def __init__(self, peer):
        self.peer, self.device = peer, None

    def hello(self, request):
        self.device = device_named(request["device"])
        if isinstance(self.device, Cuda):
            self.device.sweep = None  # only the reference worker needs it
        return {"torch": torch.__version__, "python": platform.python_version(), "pid": os.getpid()}

    def enter(self, request):
        records = bool(request.get("records", False))
        control, inputs, outputs, artefact, *recording = self.peer.descriptors(5 if records else 4)
        facts = host_task.facts_of(request["task"], self.device)
        candidate = Candidate(self.device, request, (inputs, outputs), facts)
        place_files(FOLDER, request["files"], request["task"])
        if recording:
            candidate.records = commit.map_memory(recording[0], os.fstat(recording[0]).st_size, writable=True)
        for fd in (inputs, outputs, *recording):
            os.close(fd)
        page = commit.control_page(control)
        os.close(control)
        self.peer.send({"ok": True})
        self.peer.socket.close()
        gc.disable()
        candidate.stay(page, Places(FOLDER, FILTER, request["artefact"], artefact))

    def answer(self, request):
        try:
            return {"ok": True, **(self.enter if request["op"] == "enter" else self.hello)(request)}
        except NoDevice as error:
            return {"ok": False, "error": str(error)}
        except Exception as error:
            return {"ok": False, "error": f"{type(error).__name__}: {error}"[:1000]}


def main():
    # Up to here standard error carries the reason of a failed start; a candidate's prints are discarded.
    silence = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    quick_imports.done()
    peer = Peer(3)
    runner = Runner(peer)
    with contextlib.suppress(EOFError):  # the verifier ended
        peer.send(runner.answer(peer.receive()))
        refused = runner.answer(peer.receive())  # returns only if the session did not start
        peer.send(refused)


if __name__ == "__main__":
    main()
