# SPDX-License-Identifier: Apache-2.0
# The devices of tasks: the CPU, or the first GPU visible to this process.
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
_SWEEP_OVER_CACHE = 2  # times the last cache, so that no input stays in it
_BRIEF = 2_000_000  # nanoseconds; in shorter calls the cost of launches matters
_MORE_CALLS, _MORE_HIDDEN = 4, 2  # repetitions of a brief call
_LEAST_HELD, _MOST_HELD = 50_000, 2_000_000  # nanoseconds that the GPU waits until a call is queued
_CYCLES_OF_NS = 2  # at 2 GHz; at a lower clock rate the hold is longer
_WHOLE_SHARE = 8  # a whole task's evaluation needs about four times its tensors, plus the verifier's memory
_KEPT_CACHED = 1 << 30  # bytes that torch may keep cached between sessions


class NoDevice(Exception):
    """The device cannot be used; the text is the reason."""


class Cpu:
    """Only the verifier times calls."""

    place = torch.device("cpu")
    memory = "host"
    remote = False
    whole_bytes = 2**62  # a task with this many bytes in and out is evaluated in parts if its rows allow it

    def facts(self):
        return {"capability": torch.backends.cpu.get_cpu_capability()}

    def open(self, fd, size, writable):
        return HostMemory(fd, size, writable)

    def lane(self, name):
        return contextlib.nullcontext()

    def searching(self):
        """Context in which torch.compile tries kernels."""
        return contextlib.nullcontext()

    def call(self, lane, function, arguments):
        """The outputs, and the nanoseconds by the device's own clock."""
        return function(*arguments), 0

    call_by_clock = call

    def peak(self, work):
        """The result of `work`, and the most bytes that it allocated in addition."""
        return work(), 0

    def wait(self):
        """Waits until all queued work is done."""

    def graphs(self):
        """Captures of eager's launches; None on a device without launches."""
        return None

    def tidy(self):
        """Frees memory after work whose memory is not needed any more."""


class _Timed(NamedTuple):
    out: object
    ns: int  # on the GPU
    queued_ns: int  # until the processor had queued everything
    hidden: bool  # everything was queued before any of it ran


def _middle(times):
    """The median: a single call may run on a slow processor core."""
    return sorted(times)[len(times) // 2]


def _driver_version():
    """The CUDA version that the driver supports; empty without a driver."""
    version = ctypes.c_int()
    try:
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except OSError:
        return ()
    return version.value // 1000, version.value % 1000 // 10


def _dotted(version):
    return ".".join(map(str, version))


def _why_unusable(error, driver, wanted):
    # A driver supports all minor versions of its major version.
    if driver and driver[0] < int(wanted.split(".")[0]):
        return f"the driver is for CUDA {_dotted(driver)}, older than torch's CUDA {wanted}"
    return f"no GPU can be used: {(str(error).strip() or type(error).__name__).splitlines()[0][:200]}"


def _usable_gpu():
    """Initialises CUDA, or raises the reason why it cannot be used."""
    if torch.version.cuda is None:
        raise NoDevice(f"torch {torch.__version__} is built without CUDA")
    try:
        torch.cuda.init()
        torch.zeros(1, device="cuda:0")
    except Exception as error:
        raise NoDevice(_why_unusable(error, _driver_version(), torch.version.cuda)) from None
    return torch.device("cuda", 0)


class Cuda:
    """Events on one stream time calls, after a sweep that empties the caches.

    The GPU is held until the whole call is queued, so that the speed of launching does not count, as it does not count
    for a plan, which runs as a graph. A call that waits for the GPU itself still includes its pauses.
    """

    memory = "device"
    remote = True
    compile_cores = []  # where a search compiles; empty: where this process runs
    turns = None  # object that takes turns with others on this GPU, if any

    def __init__(self):
        self.place = _usable_gpu()
        self.properties = torch.cuda.get_device_properties(self.place)
        # False, torch's default: heuristics choose by shape only. A search would choose by time, and the baseline's
        # bits and times would differ from process to process.
        torch.backends.cudnn.benchmark = False
        self._allow_tf32(False)
        self.whole_bytes = self.properties.total_memory // _WHOLE_SHARE
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
        """The lane of the baselines. Everything else uses full float32 or wider."""
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
            function(*arguments)  # not timed: switches the GPU to this process and warms Python
            timed = self._timed(function, arguments, time.perf_counter_ns() - began)
            if not timed.hidden:
                timed = self._timed(function, arguments, _MOST_HELD)
            if timed.ns >= _BRIEF:
                return timed.out, timed.ns
            patience, more = (timed.queued_ns, _MORE_HIDDEN) if timed.hidden else (_MOST_HELD, _MORE_CALLS)
            return timed.out, _middle([timed.ns, *(self._timed(function, arguments, patience).ns for _ in range(more))])

    def _timed(self, function, arguments, expected_ns):
        """One call after a hold of twice the expected time to queue it."""
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
        """Empties the caches and waits until nothing runs."""
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
        """Returns cached memory, which neither the verifier nor candidates could use."""
        held = torch.cuda.memory_reserved(self.place) - torch.cuda.memory_allocated(self.place)
        if held > _KEPT_CACHED:
            torch.cuda.empty_cache()

    def free(self):
        """Bytes that this process could still allocate: free on the device, or cached here."""
        held = torch.cuda.memory_reserved(self.place) - torch.cuda.memory_allocated(self.place)
        return torch.cuda.mem_get_info(self.place)[0] + held


def device_named(name):
    if name == "cpu":
        return Cpu()
    if name == "cuda":
        return Cuda()
    raise NoDevice(f'no device is called "{name}": cpu or cuda')
