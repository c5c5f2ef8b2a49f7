# SPDX-License-Identifier: Apache-2.0
# The verifier's device memory, mapped by descriptor: inputs read-only (enforced by the hardware), the rest writable.
import ctypes

import torch

_POSIX_FILE_DESCRIPTOR = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
_LOCATION_DEVICE = 1  # CU_MEM_LOCATION_TYPE_DEVICE
_READ, _READ_WRITE = 1, 3  # CU_MEM_ACCESS_FLAGS_PROT_*


class _Access(ctypes.Structure):
    _fields_ = [("location", ctypes.c_int), ("device", ctypes.c_int), ("flags", ctypes.c_int)]


_POINTER, _SIZE, _FLAGS = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_ulonglong
_ARGUMENTS = {
    "cuMemImportFromShareableHandle": [ctypes.POINTER(_POINTER), ctypes.c_void_p, ctypes.c_int],
    "cuMemAddressReserve": [ctypes.POINTER(_POINTER), _SIZE, _SIZE, _POINTER, _FLAGS],
    "cuMemMap": [_POINTER, _SIZE, _SIZE, _POINTER, _FLAGS],
    "cuMemSetAccess": [_POINTER, _SIZE, ctypes.POINTER(_Access), _SIZE],
    "cuMemUnmap": [_POINTER, _SIZE],
    "cuMemAddressFree": [_POINTER, _SIZE],
    "cuMemRelease": [_POINTER],
    "cuGetErrorName": [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)],
}


class Driver:
    """The driver's functions used here. A failing call raises an error with its name and the driver's error name."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        for name, arguments in _ARGUMENTS.items():
            getattr(self.library, name).argtypes = arguments

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*args):
            code = function(*args)
            if code != 0:
                text = ctypes.c_char_p()
                self.library.cuGetErrorName(code, ctypes.byref(text))
                raise RuntimeError(f"{name}: {(text.value or b'error').decode()} ({code})")

        return call


class _Span:
    """Bytes on the device, for torch to import. torch rejects the read-only flag, so only the mapping enforces it."""

    def __init__(self, pointer, size):
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (pointer, False), "version": 3}


class DeviceMemory:
    """One allocation of `size` bytes. Call `close`, which unmaps it, when no tensor views it any more."""

    def __init__(self, fd, size, writable, device):
        self.driver, self.size, self.device = Driver(), size, device
        self.pointer = 0
        handle, pointer = _POINTER(), _POINTER()
        self.driver.cuMemImportFromShareableHandle(ctypes.byref(handle), fd, _POSIX_FILE_DESCRIPTOR)
        try:
            self.driver.cuMemAddressReserve(ctypes.byref(pointer), size, 0, 0, 0)
            self._map(pointer.value, handle, writable)
        finally:
            self.driver.cuMemRelease(handle)  # the mapping keeps the memory alive
        self.pointer = pointer.value

    def _map(self, pointer, handle, writable):
        access = _Access(_LOCATION_DEVICE, self.device.index, _READ_WRITE if writable else _READ)
        mapped = False
        try:
            self.driver.cuMemMap(pointer, self.size, 0, handle, 0)
            mapped = True
            self.driver.cuMemSetAccess(pointer, self.size, ctypes.byref(access), 1)
        except BaseException:
            if mapped:
                self.driver.cuMemUnmap(pointer, self.size)
            self.driver.cuMemAddressFree(pointer, self.size)
            raise

    def view(self, dtype, shape, elements, offset):
        size = elements * dtype.itemsize
        if offset + size > self.size:
            raise ValueError(f"{size} bytes at {offset} of a device memory of {self.size}")
        if elements == 0:
            return torch.empty(shape, dtype=dtype, device=self.device)
        return torch.as_tensor(_Span(self.pointer + offset, size), device=self.device).view(dtype).view(shape)

    def close(self):
        if self.pointer:
            torch.cuda.synchronize(self.device)
            self.driver.cuMemUnmap(self.pointer, self.size)
            self.driver.cuMemAddressFree(self.pointer, self.size)
            self.pointer = 0
