# SPDX-License-Identifier: Apache-2.0
# A worker's end of its socket (runtime/process/frame_socket.hpp): JSON in frames, and descriptors.
import json
import socket
import struct

_MAGIC, _HEADER = 0x314D5246, struct.Struct("<IIQ")  # magic, 0, length
_MAX_FRAME = 16 << 20  # bytes


class Peer:
    """Every call waits. Raises EOFError once the other end is closed."""

    def __init__(self, fd):
        self.socket = socket.socket(fileno=fd)
        self.socket.setblocking(True)

    def _exactly(self, size):
        data = bytearray()
        while len(data) < size:
            part = self.socket.recv(min(size - len(data), 1 << 20))
            if not part:
                raise EOFError("the other end is closed")
            data += part
        return bytes(data)

    def receive(self):
        magic, reserved, length = _HEADER.unpack(self._exactly(_HEADER.size))
        if magic != _MAGIC or reserved != 0 or length > _MAX_FRAME:
            raise SystemExit(f"frame: magic {magic:#x}, length {length}")
        return json.loads(self._exactly(length))

    def send(self, value):
        # Texts of tasks may contain lone surrogates, which have no UTF-8 form.
        text = json.dumps(value, ensure_ascii=False).encode(errors="replace")
        self.socket.sendall(_HEADER.pack(_MAGIC, 0, len(text)) + text)

    def descriptors(self, count):
        _, fds, _, _ = socket.recv_fds(self.socket, 1, count)
        if len(fds) != count:
            raise RuntimeError(f"expected {count} descriptors, got {len(fds)}")
        return fds
