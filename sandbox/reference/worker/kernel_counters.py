# SPDX-License-Identifier: Apache-2.0
# Hardware counters of the kernels of one call, from CUPTI's range profiler through our shared library
# (sandbox/profile/counters_library.cpp).
import ctypes
import os

_LIBRARY = "WARPSMITH_COUNTERS"  # environment variable with the library's path
_FIELDS = ("dram_read_bytes", "dram_written_bytes", "flops", "tensor_flops", "warps_active")
_TEXT_CHARACTERS = 200


class Uncounted(Exception):
    """There are no counters; the text is the reason."""


def _library():
    path = os.environ.get(_LIBRARY)
    if not path:
        raise Uncounted("this build counts nothing")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise Uncounted(str(error)) from error
    for name in ("open", "begin", "end", "read"):
        getattr(library, f"warpsmith_counters_{name}").restype = ctypes.c_char_p
    return library


def _done(complaint):
    if complaint:
        raise Uncounted(complaint.decode(errors="replace"))


def _rounds(library, device, call):
    """Repeats the call with cold caches until everything is counted."""
    more = ctypes.c_int(1)
    while more.value:
        device.cool()
        _done(library.warpsmith_counters_begin())
        call()
        device.wait()
        _done(library.warpsmith_counters_end(ctypes.byref(more)))


def _of_each(device, call, kernels):
    library = _library()
    try:
        _done(library.warpsmith_counters_open(ctypes.c_size_t(kernels)))
        _rounds(library, device, call)
        values = (ctypes.c_double * (kernels * len(_FIELDS)))()
        _done(library.warpsmith_counters_read(values, ctypes.c_size_t(kernels)))
    finally:
        library.warpsmith_counters_close()
    return [dict(zip(_FIELDS, values[i * len(_FIELDS):(i + 1) * len(_FIELDS)])) for i in range(kernels)]


def add(device, call, kernels):
    """Adds counters to each recorded kernel of a call. Returns the reason if that fails, otherwise an empty text."""
    launched = [kernel for kernel in kernels if kernel["kind"] == "kernel"]
    if not launched:
        return ""
    try:
        for kernel, counters in zip(launched, _of_each(device, call, len(launched))):
            kernel["counters"] = counters
        return ""
    except Uncounted as error:
        return str(error)[:_TEXT_CHARACTERS]
