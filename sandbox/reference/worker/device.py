# SPDX-License-Identifier: Apache-2.0
# Where tasks run: the CPU, or the first GPU that this process sees.
import contextlib
import ctypes
import time
from typing import NamedTuple

import torch

from device_memory import DeviceMemory
from graphs import Graphs
from host_memory import HostMemory

NO_GRAPHS = "a CPU has no graphs"
LANES = ("fp32_strict", "tf32_allowed")
_SWEEP_OVER_CACHE = 2  # times the last cache: nothing of the inputs is left in it
_BRIEF = 2_000_000  # nanoseconds: below, the launches of a call weigh
_MORE_CALLS, _MORE_HIDDEN = 4, 2  # of a brief call beside the first
_LEAST_HELD, _MOST_HELD = 50_000, 2_000_000  # nanoseconds that the GPU waits for a call to be queued
_CYCLES_OF_NS = 2  # at 2 GHz; a slower clock holds longer
_KEPT_CACHED = 1 << 30  # bytes that torch may hold back between stays


class NoDevice(Exception):
    """The device cannot be used; the text says why."""


class Cpu:
    """Calls are timed by the verifier alone."""

    place = torch.device("cpu")
    memory = "host"
    remote = False

    def facts(self):
        return {"capability": torch.backends.cpu.get_cpu_capability()}

    def open(self, fd, size, writable):
        return HostMemory(fd, size, writable)

    def lane(self, name):
        return contextlib.nullcontext()

    def searching(self):
        """While torch.compile tries kernels."""
        return contextlib.nullcontext()

    def call(self, lane, function, arguments):
        """Outputs, and the nanoseconds by the device's own clock."""
        return function(*arguments), 0

    call_by_clock = call

    def peak(self, work):
        """What `work` gives, and the most bytes that it held beyond what was held before."""
        return work(), 0

    def wait(self):
        """Until all that was ordered is done."""

    def graphs(self):
        """Where eager's launches can be captured; nothing where there are no launches."""
        return None

    def tidy(self):
        """After work that leaves nothing behind."""


class _Timed(NamedTuple):
    out: object
    ns: int  # on the GPU
    queued_ns: int  # until the processor had queued it
    hidden: bool  # all was queued before any of it ran


def _middle(times):
    """A single call is as slow as the processor that it was woken on: the middle one is the baseline's own."""
    return sorted(times)[len(times) // 2]


def _driver_version():
    """The CUDA version that the driver is for, or nothing where there is no driver."""
    version = ctypes.c_int()
    try:
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except OSError:
        return ()
    return version.value // 1000, version.value % 1000 // 10


def _dotted(version):
    return ".".join(map(str, version))


def _why_unusable(error, driver, wanted):
    # A driver serves all minor versions of its major one.
    if driver and driver[0] < int(wanted.split(".")[0]):
        return f"the driver is for CUDA {_dotted(driver)}, older than torch's CUDA {wanted}"
    return f"no GPU can be used: {(str(error).strip() or type(error).__name__).splitlines()[0][:200]}"


def _usable_gpu():
    """CUDA made ready, or why not."""
    if torch.version.cuda is None:
        raise NoDevice(f"torch {torch.__version__} is built without CUDA")
    try:
        torch.cuda.init()
        torch.zeros(1, device="cuda:0")
    except Exception as error:
        raise NoDevice(_why_unusable(error, _driver_version(), torch.version.cuda)) from None
    return torch.device("cuda", 0)


class Cuda:
    """Calls are timed by events on one stream, behind a sweep that empties the caches.

    The GPU is held until the whole call is queued: how fast the processor launches is nobody's time, as it is not of a
    plan, which runs as a graph. Only where a call waits for the GPU itself, its pauses count.
    """

    memory = "device"
    remote = True
    turns = None  # with others on this GPU, if any

    def __init__(self):
        self.place = _usable_gpu()
        self.properties = torch.cuda.get_device_properties(self.place)
        # False, torch's own default: the heuristics choose by shapes alone. A race would choose by times, and the
        # baseline's bits and times would differ from process to process.
        torch.backends.cudnn.benchmark = False
        self._allow_tf32(False)
        self._swept = _SWEEP_OVER_CACHE * self.properties.L2_cache_size
        self.sweep = torch.empty(self._swept, dtype=torch.uint8, device=self.place)
        self.began, self.ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def facts(self):
        p = self.properties
        return {"capability": f"{p.major}.{p.minor}", "device_name": p.name, "memory_bytes": p.total_memory,
                "cuda": torch.version.cuda, "cudnn": str(torch.backends.cudnn.version()),
                "driver": _dotted(_driver_version())}

    def open(self, fd, size, writable):
        return DeviceMemory(fd, size, writable, self.place)

    @staticmethod
    def _allow_tf32(allowed):
        torch.backends.cuda.matmul.allow_tf32 = allowed
        torch.backends.cudnn.allow_tf32 = allowed

    @contextlib.contextmanager
    def lane(self, name):
        """Of the baselines. Everything else is full float32 or wider."""
        self._allow_tf32(name == "tf32_allowed")
        try:
            yield
        finally:
            self._allow_tf32(False)

    def searching(self):
        return self.turns.of_searches() if self.turns else contextlib.nullcontext()

    def call(self, lane, function, arguments):
        with self.lane(lane):
            began = time.perf_counter_ns()
            function(*arguments)  # the GPU changes to this process, and Python is warm: nobody's time
            timed = self._timed(function, arguments, time.perf_counter_ns() - began)
            if not timed.hidden:
                timed = self._timed(function, arguments, _MOST_HELD)
            if timed.ns >= _BRIEF:
                return timed.out, timed.ns
            patience, more = (timed.queued_ns, _MORE_HIDDEN) if timed.hidden else (_MOST_HELD, _MORE_CALLS)
            return timed.out, _middle([timed.ns, *(self._timed(function, arguments, patience).ns for _ in range(more))])

    def _timed(self, function, arguments, expected_ns):
        """One call behind a hold of twice the time that queueing it is expected to take."""
        hold = min(max(2 * expected_ns, _LEAST_HELD), _MOST_HELD)
        begins = time.perf_counter_ns()
        torch.cuda._sleep(hold * _CYCLES_OF_NS)
        self.sweep.zero_()
        self.began.record()
        out = function(*arguments)
        self.ended.record()
        queued_ns, hidden = time.perf_counter_ns() - begins, not self.began.query()
        self.ended.synchronize()
        return _Timed(out, int(self.began.elapsed_time(self.ended) * 1e6), queued_ns, hidden)

    def call_by_clock(self, lane, function, arguments):
        """As `call`, but from the first launch until the processor sees the end: what contract `host` charges."""
        with self.lane(lane):
            function(*arguments)
            out, taken = self._clocked(function, arguments)
            if taken < _BRIEF:
                taken = _middle([taken, *(self._clocked(function, arguments)[1] for _ in range(_MORE_CALLS))])
        return out, taken

    def _clocked(self, function, arguments):
        self.cool()
        began = time.perf_counter_ns()
        out = function(*arguments)
        self.wait()
        return out, time.perf_counter_ns() - began

    def cool(self):
        """Nothing that later work reads is in the caches, and nothing runs."""
        swept = torch.empty(self._swept, dtype=torch.uint8, device=self.place) if self.sweep is None else self.sweep
        swept.zero_()
        self.wait()

    def peak(self, work):
        torch.cuda.reset_peak_memory_stats(self.place)
        before = torch.cuda.memory_allocated(self.place)
        result = work()
        return result, torch.cuda.max_memory_allocated(self.place) - before

    def wait(self):
        torch.cuda.synchronize(self.place)

    def graphs(self):
        return Graphs()

    def tidy(self):
        """Memory that torch holds back is lost to the verifier and to candidates."""
        held = torch.cuda.memory_reserved(self.place) - torch.cuda.memory_allocated(self.place)
        if held > _KEPT_CACHED:
            torch.cuda.empty_cache()

    def free(self):
        """Bytes that this process could still take: the device's free ones, and those held back here."""
        held = torch.cuda.memory_reserved(self.place) - torch.cuda.memory_allocated(self.place)
        return torch.cuda.mem_get_info(self.place)[0] + held


def device_named(name):
    if name == "cpu":
        return Cpu()
    if name == "cuda":
        return Cuda()
    raise NoDevice(f'no device is called "{name}": cpu or cuda')
