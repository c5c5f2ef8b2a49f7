# SPDX-License-Identifier: Apache-2.0
# The lock of the one crawl that may run at a time. Others wait for its table, and say so.
import contextlib
import fcntl
import time

MOST_WAIT_S = 3600.0  # a crawl takes minutes
_SAY_S = 60.0  # between two messages while waiting
_LOOK_S = 0.5


class Busy(Exception):
    """Another process held the lock for too long; the text names the file."""


def _taken(lock):
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(lock, path, say, most_s):
    began, said = time.monotonic(), None
    while not _taken(lock):
        waited = time.monotonic() - began
        if waited > most_s:
            raise Busy(f"crawl: another process has held {path} for {waited:.0f} s: end it, then repeat this command")
        if said is None or waited - said > _SAY_S:
            said = waited
            say(f"crawl: another process crawls; waiting for it, {waited:.0f} s so far ({path})")
        time.sleep(min(_LOOK_S, most_s))


@contextlib.contextmanager
def held(path, say, most_s=MOST_WAIT_S):
    """Holds the lock. Raises Busy."""
    with open(path, "w") as lock:
        _wait(lock, path, say, most_s)
        yield
