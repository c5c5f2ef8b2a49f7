# SPDX-License-Identifier: Apache-2.0
# The contestant's side of the sequential commit (sandbox/commit/control_page.hpp), for the baselines.
import ctypes
import mmap

MAGIC, VERSION, PAGE_BYTES = 0x50435357, 1, 4096
NOOP, LOAD, RUN, LEAVE = 1, 2, 3, 4
OK, BAD_ORDER, FAILED = 1, 4, 5
_SYS_FUTEX = {"x86_64": 202, "aarch64": 98}
_FUTEX_WAIT, _FUTEX_WAKE = 0, 1
_POPULATE = 0x8000


class ControlPage(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("magic", "version", "ring", "done", "command", "set", "status", "hint")]


def map_memory(fd, size, writable):
    prot = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
    return mmap.mmap(fd, size, flags=mmap.MAP_SHARED | _POPULATE, prot=prot)


def _futex():
    import platform

    number = _SYS_FUTEX[platform.machine()]
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.argtypes = [ctypes.c_long, ctypes.c_void_p, ctypes.c_long, ctypes.c_long, ctypes.c_void_p]
    return lambda address, what, value: call(number, address, what, value, None)


def serve(fd, run):
    """Answers until `leave`. `run(set)` carries out one call and returns a status; it never raises."""
    memory = map_memory(fd, PAGE_BYTES, writable=True)
    page = ControlPage.from_buffer(memory)
    if page.magic != MAGIC or page.version != VERSION:
        raise RuntimeError(f"control page: magic {page.magic:#x} version {page.version}")
    futex = _futex()
    ring = ctypes.addressof(page) + ControlPage.ring.offset
    done = ctypes.addressof(page) + ControlPage.done.offset
    seen, command = 0, NOOP
    while command != LEAVE:
        while page.ring == seen:
            futex(ring, _FUTEX_WAIT, seen)
        seen, command = page.ring, page.command
        page.status = run(page.set) if command == RUN else OK if command in (NOOP, LOAD, LEAVE) else BAD_ORDER
        page.done = seen
        futex(done, _FUTEX_WAKE, 1)
