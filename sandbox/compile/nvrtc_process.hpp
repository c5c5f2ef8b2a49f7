// SPDX-License-Identifier: Apache-2.0
// The outer side of a jailed NVRTC process (nvrtc_worker.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/process/frame_socket.hpp"
#include "runtime/result.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

struct NvrtcOptions {
  std::string program;                // warpsmith-sandbox
  std::string library_folder;         // holds libnvrtc.so.*
  std::vector<std::string> includes;  // folders of the toolkit's headers
  std::vector<std::string> flags;     // of every source
  std::string precompiled_folder;     // of PrecompiledHeaders; empty: none
  JailLimits limits;
  std::vector<int> cores;  // empty: the calling thread's
  size_t ready = 1;        // workers kept waiting
};

/// Where `precompiled_folder` appears in the jail, read-only.
inline constexpr const char* precompiled_path = "/precompiled";

/// The path of folder number `index` of headers in the jail: /include0, /include1, …
std::string include_path(size_t index);

struct NvrtcProcess {
  std::unique_ptr<JailedProcess> process;
  FrameSocket socket;
};

/// Starts a process. All of them place their memory alike, since a precompiled header fits only the
/// placement that it was made with. `writable`: one more folder.
Result<NvrtcProcess> start_nvrtc(const NvrtcOptions& options,
                                 const std::optional<Bind>& writable = std::nullopt);

}  // namespace warpsmith::sandbox
