# SPDX-License-Identifier: Apache-2.0
# A key in the environment.
import ctypes
import os

_DUMPABLE = 4


def take(name):
    """Returns the key, and keeps later processes and tasks from reading it in the environment. None without a name."""
    if not name:
        return None
    ctypes.CDLL(None).prctl(_DUMPABLE, 0, 0, 0, 0)  # else /proc shows the environment at the start
    return os.environ.pop(name)
