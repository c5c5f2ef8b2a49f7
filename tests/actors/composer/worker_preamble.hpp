// SPDX-License-Identifier: Apache-2.0
// A stand-in for synthesis/worker/serve.py, up to its first candidate.
#pragma once

namespace warpsmith::actors {

/// Takes the settings and is ready; `receive` and `send` exchange frames.
inline constexpr const char* worker_preamble = R"(
import json, os, socket, struct, sys
peer = socket.socket(fileno=3)
peer.setblocking(True)
header = struct.Struct("<IIQ")
def exactly(size):
    data = b""
    while len(data) < size:
        part = peer.recv(size - len(data))
        if not part:
            sys.exit(0)
        data += part
    return data
def receive():
    return json.loads(exactly(header.unpack(exactly(header.size))[2]))
def send(value):
    data = json.dumps(value).encode()
    peer.sendall(header.pack(0x314D5246, 0, len(data)) + data)
receive()
send({"versions": {}})
)";

}  // namespace warpsmith::actors
