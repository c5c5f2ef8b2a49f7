# SPDX-License-Identifier: Apache-2.0
# Turns on a GPU, by the machine's leases (runtime/device/lease.hpp): many work at a time, one measures alone.
#
# The lock of the device's file is shared for work and exclusive for a measurement. The lock of its first byte says that
# a measurement goes on or waits; work waits then, so that measurements go first.
import contextlib
import fcntl
import os
import signal
import struct
import time

FOLDER = "/tmp/warpsmith-leases"
_FREE, _ALONE = ("load", "start"), ("time",)  # steps that leave the GPU alone; steps that measure
_MOST_HELD_S = 5.0  # a compiler mostly leaves the GPU alone, and a task that is measured for so long is too slow anyway
_PATIENCE_S = 1200.0
_LOOK_S = 0.005


class Busy(Exception):
    """Others hold the GPU; the text says which lock."""


class Turns:
    """The turns of one process: at most one at a time."""

    def __init__(self, device, folder=FOLDER):
        """`device`: its name in leases."""
        self.path = f"{folder}/{device}.lock"
        self.file, self.since = _opened(folder, self.path), None

    def begin(self, step):
        """Ends the turn before, and waits for the one that the step needs; the seconds of the wait. Raises Busy."""
        self.end()
        began = time.monotonic()
        if step in _FREE:
            return 0.0
        self._take_alone() if step in _ALONE else self._take_share(began + _PATIENCE_S)
        self.since = time.monotonic()
        return self.since - began

    def _take_alone(self):
        with _within(_PATIENCE_S, Busy(f"{self.path}: not free for {_PATIENCE_S:.0f} s")):
            fcntl.fcntl(self.file, fcntl.F_OFD_SETLKW, _first_byte(fcntl.F_WRLCK))
            fcntl.flock(self.file, fcntl.LOCK_EX)

    def _take_share(self, deadline):
        while self.is_wanted() or not self._shared():
            if time.monotonic() > deadline:
                raise Busy(f"{self.path}: measurements follow each other for {_PATIENCE_S:.0f} s")
            time.sleep(_LOOK_S)

    def _shared(self):
        try:
            fcntl.flock(self.file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def is_wanted(self):
        """Whether another process measures, or waits to."""
        found = fcntl.fcntl(self.file, fcntl.F_OFD_GETLK, _first_byte(fcntl.F_WRLCK))
        return struct.unpack_from("h", found)[0] != fcntl.F_UNLCK

    def look(self):
        """Ends a turn that takes long."""
        if self.since is not None and time.monotonic() - self.since > _MOST_HELD_S:
            self.end()

    def end(self):
        """Gives the turn back, if there is one."""
        fcntl.flock(self.file, fcntl.LOCK_UN)
        fcntl.fcntl(self.file, fcntl.F_OFD_SETLK, _first_byte(fcntl.F_UNLCK))
        self.since = None


def _first_byte(kind):
    """`struct flock`: kind, from the file's begin, start, length, no process."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 1, 0)


def _opened(folder, path):
    """The lock file, which all users of the device share. Without O_CREAT where it exists: in a folder that all can
    write, the kernel refuses that for another user's file."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder)
        os.chmod(folder, 0o1777)
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    with contextlib.suppress(FileNotFoundError):
        return os.open(path, flags)
    with contextlib.suppress(FileExistsError):
        file = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
        os.chmod(path, 0o666)  # despite the umask
        return file
    return os.open(path, flags)


@contextlib.contextmanager
def _within(seconds, error):
    """Raises the error in a call that blocks for so long. For the main thread."""
    def late(*_):
        raise error

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
