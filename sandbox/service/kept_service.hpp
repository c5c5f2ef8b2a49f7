// SPDX-License-Identifier: Apache-2.0
// A service that stays for a while after its client has left. The next client with the same options
// finds its tasks, compiled baselines and warm processes.
#pragma once

#include <filesystem>
#include <functional>

#include "sandbox/service/server.hpp"

namespace warpsmith::sandbox {

/// The socket file of the kept service for these options, this program and the environment that
/// reaches torch and CUDA.
std::filesystem::path kept_socket(const SandboxOptions& options);

/// Connects to the kept service, and starts it if there is none. Fails if it serves another client.
Result<FrameSocket> join_kept_service(const SandboxOptions& options, Deadline deadline);

/// The arguments of `warpsmith-sandbox keep`.
struct KeptService {
  std::filesystem::path socket;
  std::chrono::seconds keep{0};         // how long it stays without a client
  std::function<std::string()> source;  // names the code that it runs; a change ends the service
};

/// Listens, then continues in the background: this process returns once clients can connect, with 0
/// also if another service listens there. One client at a time.
int serve_kept(const KeptService& service, const MakeBackend& make_backend);

}  // namespace warpsmith::sandbox
