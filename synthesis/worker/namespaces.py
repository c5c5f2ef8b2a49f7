# SPDX-License-Identifier: Apache-2.0
# A view of this machine without network and disks. Every file is read-only except those of one folder in memory.
import ctypes
import glob
import os

_NEW_MOUNTS, _NEW_USERS, _NEW_NETWORK, _NEW_IPC = 0x20000, 0x10000000, 0x40000000, 0x8000000
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 1 << 18
_MOUNT_SETATTR, _HERE, _AT_RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 1
_SUBREAPER = 36


class _Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user_namespace")]


def _check(failed, what):
    if failed:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def _write(path, text):
    with open(path, "w") as file:
        file.write(text)


def _show_devices(libc, folder):
    """Keeps in /dev only what programs and a GPU's driver need: read-only mounts do not protect disks."""
    _check(libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=64k"), "a folder for devices")
    nodes = [f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")] + glob.glob("/dev/nvidia*")
    for node in filter(os.path.exists, nodes):
        place = f"{folder}/{os.path.basename(node)}"
        if not os.path.isdir(node):
            _write(place, "")
            _check(libc.mount(node.encode(), place.encode(), None, _BIND, None), node)
    _check(libc.mount(os.fsencode(folder), b"/dev", None, _BIND | _RECURSIVE, None), "devices")


def _change_mount(libc, place, attributes, flags, what):
    _check(libc.syscall(_MOUNT_SETATTR, _HERE, place, flags, ctypes.byref(attributes),
                        ctypes.c_size_t(ctypes.sizeof(attributes))), what)


def enter(folder, most_bytes):
    """Moves this process there; `folder` stays writable, with at most `most_bytes`. Raises OSError if refused."""
    libc, users, groups = ctypes.CDLL(None, use_errno=True), os.getuid(), os.getgid()
    _check(libc.unshare(_NEW_USERS | _NEW_MOUNTS | _NEW_NETWORK | _NEW_IPC), "namespaces")
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{users} {users} 1")
    _write("/proc/self/gid_map", f"{groups} {groups} 1")
    _check(libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None), "private mounts")
    _show_devices(libc, folder)
    _change_mount(libc, b"/", _Attributes(set=_READ_ONLY), _AT_RECURSIVE, "read-only files")
    _check(libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={most_bytes}".encode()), "temporary folder")


def allow_thread_names():
    """Lets a process in this view name its threads, through files in /proc. CUDA's driver needs this."""
    place = f"/proc/{os.getpid()}/task"
    if not os.statvfs(place).f_flag & os.ST_RDONLY:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.mount(place.encode(), place.encode(), None, _BIND, None), place)  # ends with the process
    _change_mount(libc, place.encode(), _Attributes(clear=_READ_ONLY), 0, place)


def adopt_orphans():
    """Makes this process the parent of processes whose own parent ended, so that it can end them."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
