# SPDX-License-Identifier: Apache-2.0
# Temporary folders that do not outlive their owner, in the form of runtime/run/owned_folder.hpp: the owner holds
# flock(2) on a file next to the folder, so a folder whose lock is free has no owner and may be removed.
import contextlib
import fcntl
import os
import shutil
import tempfile

_PREFIX = "warpsmith-tmp-"
_ATTEMPTS = 16


def _try_lock(folder):
    """The lock of the folder as a descriptor; None if another process holds it, or the folder is gone."""
    try:
        lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_nlink:
            return lock
    os.close(lock)
    return None


def sweep(base):
    """Removes the owned folders in `base` that have no owner, and nothing else."""
    for entry in os.scandir(base):
        if not entry.name.startswith(_PREFIX) or not entry.is_dir(follow_symlinks=False):
            continue
        lock = _try_lock(entry.path)
        if lock is not None:
            shutil.rmtree(entry.path, ignore_errors=True)
            os.close(lock)  # held until the folder is gone, so that no two sweeps remove it


class OwnedFolder:
    """An empty folder `name` for temporary files. `cleanup` removes it; after a kill -9 the next owner does."""

    def __init__(self):
        base = tempfile.gettempdir()
        sweep(base)
        for _ in range(_ATTEMPTS):  # another process's sweep may remove a folder before it is locked
            self._whole = tempfile.mkdtemp(prefix=_PREFIX, dir=base)
            self._lock = _try_lock(self._whole)
            if self._lock is not None:
                break
        else:
            raise OSError(f"cannot lock a temporary folder in {base}")
        self.name = os.path.join(self._whole, "files")
        os.mkdir(self.name, 0o700)

    def __enter__(self):
        return self.name

    def __exit__(self, *_):
        self.cleanup()

    def cleanup(self):
        """Removes the folder and its contents. May be called again."""
        if self._lock is None:
            return
        shutil.rmtree(self._whole, ignore_errors=True)
        os.close(self._lock)
        self._lock = None
