# SPDX-License-Identifier: Apache-2.0
# Takes turns on the GPU (runtime/device/lease.hpp), so that trials of a search for the fastest kernel and the
# timings of other processes do not disturb each other.
import contextlib
import fcntl
import struct
import threading
import time

_TURN = 0.5  # seconds: about as long as others hold the GPU for an evaluation
_IDLE = 0.02  # seconds without a trial, while the next kernel is compiled
_PAUSE = 0.01  # seconds between two turns, in which a process that waits wakes up and takes the lock
_YIELD = 1.0  # seconds that a turn lets work go first, that may never come
_LOOK = 0.002  # seconds between two looks whether it has gone
_TURN_BYTE, _WORK_DUE = 0, 1  # bytes of the lock file, as in lease.cpp


class Turns:
    """A turn lasts over several trials, and ends soon after the last. The verifier's patience bounds a wait: it ends
    this process."""

    def __init__(self, fd):
        self.fd = fd
        self.guard = threading.Lock()
        self.since = None  # when the turn began; None: another process has it
        self.trials = 0  # in progress; trials may be nested
        self.soon = threading.Timer(0, self._end)
        self.searching = self.installed = False

    @contextlib.contextmanager
    def of_searches(self):
        """Makes torch.compile's timings here take turns. Outside searches the verifier may already hold the GPU."""
        self._install()
        self.searching = True
        try:
            yield
        finally:
            self.searching = False
            self.soon.cancel()
            self._end()

    def trial(self, work):
        """The result of `work`, run within a turn."""
        if not self.searching:
            return work()
        self._begin()
        try:
            return work()
        finally:
            self._done()

    def _install(self):
        if self.installed:
            return
        from torch._inductor.runtime.benchmarking import benchmarker

        timed = benchmarker.benchmark_gpu
        benchmarker.benchmark_gpu = lambda *given, **named: self.trial(lambda: timed(*given, **named))
        self.installed = True

    def _begin(self):
        self.soon.cancel()
        with self.guard:
            self.trials += 1
        if self.since is None:
            self._let_work_go_first()
            self._lock_turn(fcntl.F_WRLCK)
            fcntl.flock(self.fd, fcntl.LOCK_EX)
            self.since = time.monotonic()

    def _done(self):
        with self.guard:
            self.trials -= 1
        if time.monotonic() - self.since > _TURN:
            self._end()
            time.sleep(_PAUSE)
        elif not self.trials:
            self.soon = threading.Timer(_IDLE, self._end)
            self.soon.start()

    def _end(self):
        with self.guard:
            if self.trials or self.since is None:
                return
            fcntl.flock(self.fd, fcntl.LOCK_UN)
            self._lock_turn(fcntl.F_UNLCK)
            self.since = None

    def _let_work_go_first(self):
        """Returns once no share of the GPU has waited for long, or after _YIELD."""
        until = time.monotonic() + _YIELD
        while time.monotonic() < until and self._work_is_due():
            time.sleep(_LOOK)

    def _work_is_due(self):
        found = fcntl.fcntl(self.fd, fcntl.F_OFD_GETLK, _lock_of(_WORK_DUE, fcntl.F_WRLCK))
        return struct.unpack_from("h", found)[0] != fcntl.F_UNLCK

    def _lock_turn(self, kind):
        """Tells the holders of shares, a policy on this GPU, that the whole GPU is wanted."""
        fcntl.fcntl(self.fd, fcntl.F_OFD_SETLKW, _lock_of(_TURN_BYTE, kind))


def _lock_of(byte, kind):
    """`struct flock` of a byte: kind, from the file's begin, start, length, no process."""
    return struct.pack("hhqqi4x", kind, 0, byte, 1, 0)
