# SPDX-License-Identifier: Apache-2.0
# Reports on the control page that a fault was a write to an input, before the process dies of it. The report is only a
# hint for the verdict's class.
import ctypes
import signal

import commit

_SIGINFO = 4  # SA_SIGINFO
_ADDRESS_AT = 16  # offset of si_addr in siginfo_t
_MASK_BYTES = 128


class _Action(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_ubyte * _MASK_BYTES), ("flags", ctypes.c_int),
                ("restorer", ctypes.c_void_p)]


def _first_byte(memory):
    """The address of a read-only mapping; ctypes itself accepts only writable ones."""
    import torch

    return torch.frombuffer(memory, dtype=torch.uint8).data_ptr()


def install(page, inputs):
    """`inputs` is the read-only mapping."""
    libc = ctypes.CDLL(None)
    first = _first_byte(inputs)
    last = first + len(inputs)

    def on_fault(number, info, _context):
        if first <= ctypes.c_uint64.from_address(info + _ADDRESS_AT).value < last:
            page.hint = commit.WROTE_INPUT
        libc.signal(number, 0)  # the default action: the process dies on return

    handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(on_fault)
    install.kept = handler  # keeps the handler alive
    action = _Action(ctypes.cast(handler, ctypes.c_void_p), (ctypes.c_ubyte * _MASK_BYTES)(), _SIGINFO, None)
    libc.sigaction(int(signal.SIGSEGV), ctypes.byref(action), None)
