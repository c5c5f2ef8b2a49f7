# SPDX-License-Identifier: Apache-2.0
# Leases of devices in the workers, by the protocol of runtime/device/lease.hpp: many work at a time, one measures
# alone.
#
# The lock of the device's file is shared for work and exclusive for a measurement. The lock of its first byte says
# that a measurement runs or waits; work waits then, so that measurements go first. The lock of its second byte says
# that somebody has waited for long, and goes before measurements that do not have the first byte yet.
import contextlib
import fcntl
import os
import struct
import time

FOLDER = "/tmp/warpsmith-leases"
PATIENCE_S = 0.2  # of a wait, after which it goes before others: DeviceShare::patience
YIELD_S = 1.0  # how long a measurement that may wait lets work go first, that may never come
_LOOK_S = 0.002  # between two looks whether it has gone
_TURN, _DUE = 0, 1  # bytes of the lock file, as in lease.cpp


class Lease:
    """One user of a device: holds it alone, together with others, or not at all."""

    def __init__(self, file):
        """`file`: descriptor of the lock file."""
        self.file = file
        self.asked = None  # when the hold that is waited for was asked for
        self.first = self.claims = False  # which bytes are locked here

    def try_share(self):
        """Whether the device is now held for work; does not wait."""
        return self._noted(not self.is_wanted() and self._locked(fcntl.LOCK_SH))

    def try_alone(self):
        """Whether the device is now held for a measurement; does not wait. Others begin no work from here on."""
        return self._noted(self._may_be_first() and self._locked(fcntl.LOCK_EX))

    def wait_alone(self):
        """Holds the device for a measurement. Sleeps until it is free."""
        until = time.monotonic() + YIELD_S
        while time.monotonic() < until and self._is_locked(_DUE):
            time.sleep(_LOOK_S)
        fcntl.fcntl(self.file, fcntl.F_OFD_SETLKW, _region(_TURN, fcntl.F_WRLCK))
        self.first = True
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def is_wanted(self):
        """Whether another user measures, or waits to."""
        return self._is_locked(_TURN)

    def end(self):
        """Gives the device back, or no longer waits for it."""
        fcntl.flock(self.file, fcntl.LOCK_UN)
        self._set(_TURN, fcntl.F_UNLCK)
        self._claim(False)
        self.first, self.asked = False, None

    def _may_be_first(self):
        if not (self.first or self.claims) and self._is_locked(_DUE):
            return False
        self.first = self.first or self._set(_TURN, fcntl.F_WRLCK)
        return self.first

    def _noted(self, held):
        self.asked = None if held else self.asked or time.monotonic()
        self._claim(not held and not self.first and time.monotonic() - self.asked >= PATIENCE_S)
        return held

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


def _region(byte, kind):
    """`struct flock` of a byte: kind, from the file's begin, start, length, no process."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, byte, 1, 0)


def opened(path):
    """The lock file, which all users of the device share. Without O_CREAT where it exists: in a folder that all can
    write, the kernel refuses that for another user's file."""
    folder = os.path.dirname(path)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder)
        os.chmod(folder, 0o1777)
    file = _opened(path)
    os.utime(file)  # keeps cleaners of temporary folders away: others would not find a removed file
    return file


def _opened(path):
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    with contextlib.suppress(FileNotFoundError):
        return os.open(path, flags)
    with contextlib.suppress(FileExistsError):
        file = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
        os.chmod(path, 0o666)  # despite the umask
        return file
    return os.open(path, flags)
