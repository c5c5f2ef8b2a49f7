# SPDX-License-Identifier: Apache-2.0
# The contestant's side of the sequential commit (sandbox/commit/control_page.hpp), for Python baselines and candidates.
import ctypes
import mmap
import platform
from typing import NamedTuple

MAGIC, VERSION, PAGE_BYTES = 0x50435357, 2, 4096
NOOP, LOAD, RUN, LEAVE, CONFINE, COLLECT = 1, 2, 3, 4, 5, 6
OK, BAD_ORDER, FAILED, NOT_CONFINED, UNLAUNCHABLE, DEVICE_FAULT, WRONG_OUTPUTS, NO_MEMORY = 1, 4, 5, 6, 7, 8, 9, 10
WROTE_INPUT = 1
_SYS_FUTEX = {"x86_64": 202, "aarch64": 98}
_FUTEX_WAIT, _FUTEX_WAKE = 0, 1
_POPULATE = 0x8000
_TEXT_BYTES = 256
_WORDS = ("magic", "version", "ring", "done", "command", "set", "status", "hint")


class ControlPage(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in _WORDS),
        ("device_ns", ctypes.c_uint64),  # offset 32
        ("answer", ctypes.c_uint32),  # 40
        ("unused", ctypes.c_uint32 * 5),
        ("text", ctypes.c_char * _TEXT_BYTES),  # 64
    ]


class Answer(NamedTuple):
    """The answer to one call. `device_ns` is 0 if the device does not measure time."""

    status: int = OK
    device_ns: int = 0
    answer: int = 0
    text: str = ""


def map_memory(fd, size, writable):
    prot = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
    return mmap.mmap(fd, size, flags=mmap.MAP_SHARED | _POPULATE, prot=prot)


def _futex():
    number = _SYS_FUTEX[platform.machine()]
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.argtypes = [ctypes.c_long, ctypes.c_void_p, ctypes.c_long, ctypes.c_long, ctypes.c_void_p]
    return lambda address, what, value: call(number, address, what, value, None)


def _write(page, answer):
    page.status, page.device_ns, page.answer = answer.status, answer.device_ns, answer.answer
    # Truncate to whole characters and leave room for a zero.
    page.text = answer.text.encode(errors="replace")[:_TEXT_BYTES - 1].decode(errors="ignore").encode()


def control_page(fd):
    page = ControlPage.from_buffer(map_memory(fd, PAGE_BYTES, writable=True))
    if page.magic != MAGIC or page.version != VERSION:
        raise RuntimeError(f"control page: magic {page.magic:#x} version {page.version}")
    return page


def serve(page, run, noop=Answer, others=None):
    """Answers until `leave`. `run(set)` makes one call, `noop()` an empty one, and `others` maps the numbers of further
    commands to functions. All return an `Answer` and never raise."""
    others = {LOAD: Answer} if others is None else others
    futex = _futex()
    ring = ctypes.addressof(page) + ControlPage.ring.offset
    done = ctypes.addressof(page) + ControlPage.done.offset
    seen, command = 0, NOOP
    while command != LEAVE:
        while page.ring == seen:
            futex(ring, _FUTEX_WAIT, seen)
        seen, command = page.ring, page.command
        if command == RUN:
            answer = run(page.set)
        elif command == NOOP:
            answer = noop()
        elif command == LEAVE:
            answer = Answer()
        else:
            answer = others.get(command, lambda: Answer(BAD_ORDER))()
        _write(page, answer)
        page.done = seen
        futex(done, _FUTEX_WAKE, 1)
