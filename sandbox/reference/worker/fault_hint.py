# SPDX-License-Identifier: Apache-2.0
# Says on the control page that a fault was a write to an input, before the process dies of it: a hint among classes.
import ctypes
import signal

import commit

_SIGINFO = 4  # SA_SIGINFO
_ADDRESS_AT = 16  # of si_addr in siginfo_t
_MASK_BYTES = 128


class _Action(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_ubyte * _MASK_BYTES), ("flags", ctypes.c_int),
                ("restorer", ctypes.c_void_p)]


def _first_byte(memory):
    """Address of a read-only mapping: ctypes itself takes writable ones only."""
    import torch

    return torch.frombuffer(memory, dtype=torch.uint8).data_ptr()


def install(page, inputs):
    """`inputs`: the mapping that cannot be written."""
    libc = ctypes.CDLL(None)
    first = _first_byte(inputs)
    last = first + len(inputs)

    def on_fault(number, info, _context):
        if first <= ctypes.c_uint64.from_address(info + _ADDRESS_AT).value < last:
            page.hint = commit.WROTE_INPUT
        libc.signal(number, 0)  # dies of it as it returns

    handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(on_fault)
    install.kept = handler  # for the process's life
    action = _Action(ctypes.cast(handler, ctypes.c_void_p), (ctypes.c_ubyte * _MASK_BYTES)(), _SIGINFO, None)
    libc.sigaction(int(signal.SIGSEGV), ctypes.byref(action), None)
