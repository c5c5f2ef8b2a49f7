# SPDX-License-Identifier: Apache-2.0
# The verifier's side of a session in the reference worker, for tests: memory on the host or on a GPU, and calls.
import ctypes
import mmap
import os
import pathlib
import sys
import threading
import time
import warnings

import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "sandbox/reference/worker"), str(ROOT / "runtime/python")]

import commit  # noqa: E402
import device as devices  # noqa: E402
import signatures  # noqa: E402
import task as tasks  # noqa: E402
from device_memory import DeviceMemory, Driver  # noqa: E402
from session import Session  # noqa: E402

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
DTYPES = {name: dtype for dtype, name in signatures.DTYPES.items()}
NO_GPU = "" if torch.cuda.is_available() else "no GPU that torch can use"
_DEADLINE_S = 240
_devices = {}


class Managed(devices.Cpu):
    """Manages a CPU's memory like a GPU's."""

    remote = True
    room = 1 << 40

    def free(self):
        return self.room


def device(name):
    if name not in _devices:
        _devices[name] = Managed() if name == "managed" else devices.device_named(name)
        if name == "cuda":
            signatures.MAX_ELEMENTS = 2**62
    return _devices[name]


def places(case):
    """The places where a test's cases run: a CPU, and a GPU or a single skip with the reason."""
    yield "cpu"
    if not NO_GPU:
        yield "cuda"
        return
    with case.subTest(place="cuda"):
        case.skipTest(NO_GPU)


def code(forward, inputs="[torch.randn(512, 256)]", init="pass"):
    """A task whose forward has the arguments a[0], a[1], …"""
    return ("import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
            "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            + "".join(f"        {line}\n" for line in init.split("; "))
            + "    def forward(self, *a):\n" + "".join(f"        {line}\n" for line in forward.split("; "))
            + f"def get_inputs():\n    return {inputs}\ndef get_init_inputs():\n    return []\n")


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _Properties(ctypes.Structure):  # CUmemAllocationProp
    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", _Location),
                ("windows", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8)]


class GpuMemory:
    """An allocation of the virtual-memory API, exported as a descriptor; its own view is writable."""

    def __init__(self, size, place):
        driver, properties = Driver(), _Properties(1, 1, _Location(1, 0), None)
        granularity, handle, fd = ctypes.c_size_t(), ctypes.c_uint64(), ctypes.c_int(-1)
        driver.cuMemGetAllocationGranularity(ctypes.byref(granularity), ctypes.byref(properties), 0)
        self.size = max(1, -(-size // granularity.value)) * granularity.value
        driver.cuMemCreate(ctypes.byref(handle), ctypes.c_size_t(self.size), ctypes.byref(properties),
                           ctypes.c_ulonglong(0))
        driver.cuMemExportToShareableHandle(ctypes.byref(fd), handle, 1, ctypes.c_ulonglong(0))
        driver.cuMemRelease(handle)  # the descriptor keeps the memory
        self.fd = fd.value
        self.mapped = DeviceMemory(self.fd, self.size, True, place)
        self.view = self.mapped.view

    def close(self):
        self.mapped.close()
        os.close(self.fd)


class HostMemory:
    def __init__(self, size, place=None):
        self.fd, self.size = os.memfd_create("test"), max(1, size)
        os.ftruncate(self.fd, self.size)
        self.memory = mmap.mmap(self.fd, self.size)

    def view(self, dtype, shape, elements, offset):
        if elements == 0:
            return torch.empty(shape, dtype=dtype)
        return torch.frombuffer(self.memory, dtype=dtype, count=elements, offset=offset).view(shape)

    def close(self):
        os.close(self.fd)


def _layout(signature, sets):
    slots, ends = [], {False: 0, True: 0}
    for spec in signature:
        output = spec["role"] == "output"
        slots.append({"offset": ends[output], "output": output})
        ends[output] += -(-spec["elements"] * DTYPES[spec["dtype"]].itemsize // 256) * 256
    return {"slots": slots, "sets": sets, "input_stride": ends[False], "output_stride": ends[True]}


class Stay:
    """A task in a session on a thread of its own. `inputs[k]` and `outputs[k]` are the verifier's views of set k."""

    def __init__(self, text, name="cpu", sets=1, evaluations=4, lane="fp32_strict", task=None):
        self.device = device(name)
        self.task = task or tasks.Task(text, self.device, lane)
        self.signature = getattr(self.task, "test_signature", None) or self.task.signature()
        self.task.test_signature = self.signature
        if task is None:
            self.task.settle(self.signature, sets)
        layout = _layout(self.signature, sets)
        outputs = sum(s["elements"] for s in self.signature if s["role"] == "output")
        result = max(64, 12 * outputs + 256 * len(self.signature),
                     layout["input_stride"] if any(s["dtype"][0] in "iub" for s in self.signature) else 0)
        self.memories = [(GpuMemory if name == "cuda" else HostMemory)(size, self.device.place)
                         for size in (layout["input_stride"] * sets, layout["output_stride"] * sets, result)]
        self._view(layout)
        self.fill(1)
        self.control = HostMemory(commit.PAGE_BYTES)
        self.page = commit.ControlPage.from_buffer(self.control.memory)
        self.page.magic, self.page.version = commit.MAGIC, commit.VERSION
        self.futex = commit._futex()
        request = {"layout": layout, "evaluations": evaluations, "seed": 7,
                   "memory": self.device.memory, "bytes": [m.size for m in self.memories]}
        self.session = Session(self.task, self.signature, request, [m.fd for m in self.memories])
        self.thread = threading.Thread(target=self.session.stay, args=(self.control.fd,), daemon=True)
        self.thread.start()
        self.order(commit.NOOP)

    def _view(self, layout):
        self.inputs, self.outputs = [], []
        for k in range(layout["sets"]):
            views = ([], [])
            for spec, slot in zip(self.signature, layout["slots"]):
                offset = k * layout["output_stride" if slot["output"] else "input_stride"] + slot["offset"]
                views[slot["output"]].append(self.memories[slot["output"]].view(
                    DTYPES[spec["dtype"]], spec["shape"], spec["elements"], offset))
            self.inputs.append(views[0])
            self.outputs.append(views[1])

    def fill(self, seed):
        """Fills all sets with new contents: normal numbers, small integers."""
        torch.manual_seed(seed)
        for views in self.inputs:
            for view in views:
                view.normal_() if view.is_floating_point() else view.copy_(torch.randint(0, 2, view.shape))
        self.device.wait()

    def order(self, command, word=0):
        page = self.page
        page.command, page.set = command, word
        page.ring += 1
        self.futex(ctypes.addressof(page) + commit.ControlPage.ring.offset, 1, 1)
        deadline = time.monotonic() + _DEADLINE_S
        while page.done != page.ring:
            self.thread.join(0.0002)
            if time.monotonic() > deadline:
                raise RuntimeError(f"no answer to command {command} in {_DEADLINE_S} s")
            if not self.thread.is_alive() and page.done != page.ring:
                raise RuntimeError("the stay ended by itself")
        return commit.Answer(page.status, page.device_ns, page.answer, page.text.decode())

    def call(self, what, index=0, argument=0):
        return self.order(commit.RUN, index | what << 12 | argument << 16)

    def result(self):
        """References and spreads, in the shapes of the outputs."""
        shapes = [(s["elements"], s["shape"]) for s in self.signature if s["role"] == "output"]
        found, offset = [], 0
        for dtype in (torch.float64, torch.float32):
            for count, shape in shapes:
                found.append(self.memories[2].view(dtype, shape, count, offset).clone())
                offset += -(-count * dtype.itemsize // 64) * 64
        return found[:len(shapes)], found[len(shapes):]

    def leave(self):
        self.order(commit.LEAVE)
        self.thread.join()
        self.inputs = self.outputs = None
        for memory in self.memories:
            memory.close()
        return self.session.error
