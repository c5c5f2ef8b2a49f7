// SPDX-License-Identifier: Apache-2.0
// A stand-in for synthesis/worker/serve.py, up to its first candidate.
#pragma once

namespace warpsmith::actors {

/// Reads the settings and reports that it is ready; `receive` and `send` exchange frames. Starts in
/// the source folder.
inline constexpr const char* worker_preamble = R"(
import json, os, sys
sys.path.append("runtime/python")
from frames import Peer
peer = Peer(3)
receive, send = peer.receive, peer.send
receive()
send({"versions": {}})
)";

}  // namespace warpsmith::actors
