# SPDX-License-Identifier: Apache-2.0
# A key that the environment holds.
import ctypes
import os

_DUMPABLE = 4


def take(name):
    """The key; no process that is started later, and no task, can read it from the environment. None without a name."""
    if not name:
        return None
    ctypes.CDLL(None).prctl(_DUMPABLE, 0, 0, 0, 0)  # else /proc shows what the environment was at the start
    return os.environ.pop(name)
