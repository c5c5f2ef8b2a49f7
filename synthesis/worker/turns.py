# SPDX-License-Identifier: Apache-2.0
# Turns on a GPU, by the machine's leases (runtime/device/lease.hpp): many work at a time, one measures alone.
#
# The lock of the device's file is shared for work and exclusive for a measurement. The lock of its first byte says
# that a measurement goes on or waits; work waits then, so that measurements go first. The lock of its second byte says
# that somebody has waited for long, and goes before measurements that do not have the first byte yet. A turn lasts as
# long as its step, whose limits bound it. No call here waits: the worker watches its child meanwhile.
import contextlib
import fcntl
import json
import os
import struct
import time

FOLDER = "/tmp/warpsmith-leases"
TURN_LOOK_S = 0.005  # between two looks whether a turn is free
NOT_FREE = 75  # EX_TEMPFAIL, the exit status of a worker whose GPU was not free; actors/composer has it, too
PATIENCE_S = 600.0  # for all turns of a candidate: with its limits less than what a run gives a worker for an answer
CLAIM_S = 0.2  # of a wait, after which it goes before others: DeviceShare::patience
_ALONE = ("time",)  # steps that measure
_TURN, _DUE = 0, 1  # bytes of the lock file, as in lease.cpp


class Busy(Exception):
    """Others hold the GPU; the text says which lock."""


class Turns:
    """The turns of one process: at most one at a time."""

    def __init__(self, device, folder=FOLDER):
        """`device`: its name in leases."""
        self.path, self.waited = f"{folder}/{device}.lock", 0.0
        self.asked = None  # when the turn that is waited for was asked for
        self.first = self.claims = False  # which bytes are locked here
        self.file = _opened(folder, self.path)
        os.utime(self.file)  # keeps cleaners of temporary folders away: others would not find a removed file

    def renew(self):
        """The waits of the next candidate count anew."""
        self.waited = 0.0

    def check_patience(self, seconds):
        """Raises Busy where the candidate has waited for too long, with this wait."""
        if self.waited + seconds > PATIENCE_S:
            raise Busy(f"{self.path}: not free while a candidate waited for {PATIENCE_S:.0f} s in all")

    def try_begin(self, step):
        """Whether the turn that the step needs was free, and is taken now. One that measures keeps others from new
        turns from here on."""
        begun = self._measures() if step in _ALONE else not self.is_wanted() and self._locked(fcntl.LOCK_SH)
        self.asked = None if begun else self.asked or time.monotonic()
        self._claim(not begun and not self.first and time.monotonic() - self.asked >= CLAIM_S)
        return begun

    def _measures(self):
        if not (self.first or self.claims) and self._is_locked(_DUE):
            return False
        self.first = self.first or self._set(_TURN, fcntl.F_WRLCK)
        return self.first and self._locked(fcntl.LOCK_EX)

    def _claim(self, claims):
        if claims != self.claims and self._set(_DUE, fcntl.F_RDLCK if claims else fcntl.F_UNLCK):
            self.claims = claims

    def _locked(self, kind):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(self.file, kind | fcntl.LOCK_NB)
            return True
        return False

    def _set(self, byte, kind):
        with contextlib.suppress(BlockingIOError, PermissionError):  # either may say that another process holds it
            fcntl.fcntl(self.file, fcntl.F_OFD_SETLK, _region(byte, kind))
            return True
        return False

    def _is_locked(self, byte):
        found = fcntl.fcntl(self.file, fcntl.F_OFD_GETLK, _region(byte, fcntl.F_WRLCK))
        return struct.unpack_from("h", found)[0] != fcntl.F_UNLCK

    def is_wanted(self):
        """Whether another process measures, or waits to."""
        return self._is_locked(_TURN)

    def end(self):
        """Gives the turn back, or no longer waits for one."""
        fcntl.flock(self.file, fcntl.LOCK_UN)
        self._set(_TURN, fcntl.F_UNLCK)
        self._claim(False)
        self.first, self.asked = False, None


class Steps:
    """The steps of one job. A child says each and waits; it is answered once the step has its turn, if it needs one."""

    def __init__(self, turns, free, answer):
        """`turns`: None where no step waits. `free`: steps that need no turn. `answer()` lets the child go on."""
        self.turns, self.free, self.answer = turns, free, answer
        self.waited, self.pending, self.heard = {}, None, 0

    def follow(self, data):
        """Takes in all that the child has said; False if it asks for a step before the last one began, which ours never
        do. Raises Busy."""
        if self.turns is None:
            return True
        said = _steps_in(data[self.heard:])
        self.heard = data.rfind(b"\n") + 1
        if len(said) + (self.pending is not None) > 1:
            return False
        if said:
            self.turns.end()
            self.pending, self.since = said[0], time.monotonic()
        if self.pending is not None:
            self._try_pending()
        return True

    def _try_pending(self):
        seconds = time.monotonic() - self.since
        if self.pending in self.free or self.turns.try_begin(self.pending):
            self.waited[self.pending] = self.waited.get(self.pending, 0.0) + seconds
            self.turns.waited += seconds
            self.pending = None
            self.answer()
        else:
            self.turns.check_patience(seconds)

    def waited_s(self):
        """Seconds of all waits of the job, up to now."""
        return sum(self.waited.values()) + (time.monotonic() - self.since if self.pending is not None else 0.0)

    def end(self):
        """Ends the last step's turn."""
        if self.turns:
            self.turns.end()


def _steps_in(data):
    """Names of the steps in whole lines; a task may have written the lines."""
    found = []
    for line in data.split(b"\n")[:-1]:
        with contextlib.suppress(ValueError, RecursionError, KeyError, TypeError):
            found.append(str(json.loads(line)["step"]))
    return found


def _region(byte, kind):
    """`struct flock` of a byte: kind, from the file's begin, start, length, no process."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, byte, 1, 0)


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
