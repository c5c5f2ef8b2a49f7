# SPDX-License-Identifier: Apache-2.0
# Takes turns on the GPU, so that trials of a search for the fastest kernel and the
# timings of other processes do not disturb each other.
import contextlib
import threading
import time

from leases import Lease

_TURN = 0.5  # seconds: about as long as others use the GPU for an evaluation
_IDLE = 0.02  # seconds without a trial, while the next kernel is compiled
_PAUSE = 0.01  # seconds between two turns, in which a process that waits wakes up and takes the lock


class Turns:
    """A turn lasts over several trials, and ends soon after the last. The verifier bounds a wait by ending this
    process."""

    def __init__(self, fd):
        self.lease = Lease(fd)
        self.guard = threading.Lock()
        self.since = None  # when the turn started; None: another process has it
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
            self.lease.wait_alone()
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
            self.lease.end()
            self.since = None
