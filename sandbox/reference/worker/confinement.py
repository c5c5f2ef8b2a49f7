# SPDX-License-Identifier: Apache-2.0
# Installs the verifier's system call filter on every thread of this process, irrevocably.
import ctypes
import os
import platform

_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER, _ALL_THREADS = 1, 1
_INSTRUCTION_BYTES = 8


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def put_in_force(path):
    """`path` is a file with a BPF program. Raises OSError if the kernel rejects it."""
    with open(path, "rb") as file:
        code = ctypes.create_string_buffer(file.read())
    program = _Program((len(code) - 1) // _INSTRUCTION_BYTES, ctypes.cast(code, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.syscall(ctypes.c_long(_SECCOMP[platform.machine()]), ctypes.c_long(_SET_MODE_FILTER),
                          ctypes.c_long(_ALL_THREADS), ctypes.byref(program))
    if failed != 0:  # negative, or the id of a thread that cannot take the filter
        raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())} ({failed})")
