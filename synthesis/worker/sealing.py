# SPDX-License-Identifier: Apache-2.0
# System calls that a task's process may not make, enforced by the kernel through libseccomp.
import ctypes
import errno
import os
import pathlib
import re
import signal
import socket

_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NOT_EQUAL, _MASKED_EQUAL = 1, 7
_CLONE_THREAD = 0x10000
_NAMESPACES = 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_NO_NEW_PRIVILEGES, _DEATH_SIGNAL, _DROP_BOUND = 38, 1, 24
_CAPABILITIES_VERSION = 0x20080522

_TABLE = pathlib.Path(__file__).parents[2] / "runtime/process/system_calls.inc"
_ROW = re.compile(r"^WARPSMITH_CALLS\(([\w |]+),([\w\s,]+)\)", re.MULTILINE)


def _names_in(wanted):
    """The calls of one set of the table."""
    rows = _ROW.findall(_TABLE.read_text())
    names = [name for sets, names in rows if wanted in sets.split(" | ") for name in re.findall(r"\w+", names)]
    if not names:
        raise ValueError(f"{_TABLE}: no calls in {wanted}")
    return names


_CALLS = {name: _names_in(name) for name in ("task", "task_starts", "task_listens", "task_files")}


class _Compare(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("operator", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


class _Filter:
    def __init__(self):
        self.library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
        self.library.seccomp_init.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.library.seccomp_init(ctypes.c_uint32(_ALLOW)))

    def refuse(self, names, action, *conditions):
        rows = (_Compare * len(conditions))(*conditions)
        for name in names:
            number = self.library.seccomp_syscall_resolve_name(name.encode())
            if number < 0:
                continue  # the architecture has no such call
            failed = self.library.seccomp_rule_add_array(self.context, ctypes.c_uint32(action), number,
                                                         len(conditions), rows)
            if failed:
                raise OSError(-failed, f"seccomp: no rule for {name}")

    def put_in_force(self):
        failed = self.library.seccomp_load(self.context)
        if failed:
            raise OSError(-failed, f"seccomp: {os.strerror(-failed)}")


def die_with_parent():
    """Ends this process when the one that forked it ends."""
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


def drop_capabilities():
    """Drops the rights of a namespace's owner, such as changing its mounts."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        libc.prctl(_DROP_BOUND, capability, 0, 0, 0)  # refused without privileges, and not needed then
    header, none = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0), (ctypes.c_uint32 * 6)()
    if libc.capset(header, none):
        raise OSError(ctypes.get_errno(), "capabilities cannot be dropped")


def seal(files=True, processes=True, gpu=False):
    """Forbids this process network, changes of any `files` and new `processes`. Cannot be undone.

    With `gpu`, the process may listen at a local address, as CUDA's driver does, and other calls fail instead of
    ending the process. The driver looks for the server that shares a GPU and continues only if there is none.
    """
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    rules, denied = _Filter(), _ERRNO | errno.EACCES
    ended = denied if gpu else _KILL
    rules.refuse(_CALLS["task"], ended)
    rules.refuse(["connect"], _ERRNO | errno.ENOENT if gpu else _KILL)
    rules.refuse(["socket"], ended, _Compare(0, _NOT_EQUAL, socket.AF_UNIX, 0))
    if not gpu:
        rules.refuse(_CALLS["task_listens"], _KILL)
        # The C library looks for a name service before it reads /etc/passwd.
        rules.refuse(["socket"], denied, _Compare(0, _MASKED_EQUAL, 0xFFFFFFFF, socket.AF_UNIX))
    if processes:
        rules.refuse(_CALLS["task_starts"], ended)
        rules.refuse(["clone"], ended, _Compare(0, _MASKED_EQUAL, _CLONE_THREAD, 0))
    for flag in _NAMESPACES:
        rules.refuse(["clone"], ended, _Compare(0, _MASKED_EQUAL, flag, flag))
    rules.refuse(["clone3"], _ERRNO | errno.ENOSYS)  # its flags cannot be seen; the C library falls back to clone
    if files:
        rules.refuse(_CALLS["task_files"], denied)
        for call, flags in (("open", 1), ("openat", 2)):
            for mode in (os.O_WRONLY, os.O_RDWR):
                rules.refuse([call], denied, _Compare(flags, _MASKED_EQUAL, os.O_ACCMODE, mode))
            rules.refuse([call], denied, _Compare(flags, _MASKED_EQUAL, os.O_CREAT, os.O_CREAT))
    rules.put_in_force()
