// SPDX-License-Identifier: Apache-2.0
// A jailed process that has NVRTC loaded and warm (nvrtc_worker.hpp), seen from outside.
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
  std::string precompiled_folder;     // of PrecompiledHeaders; empty: none are kept
  JailLimits limits;
  std::optional<int> core;
  size_t ready = 1;  // workers that wait
};

/// Where `precompiled_folder` appears in the jail, read-only.
inline constexpr const char* precompiled_path = "/precompiled";

/// Folders of headers appear in the jail, and in options, as /include0, /include1, …
std::string include_path(size_t index);

struct NvrtcProcess {
  std::unique_ptr<JailedProcess> process;
  FrameSocket socket;
};

/// Memory is placed alike in each of them, whatever they are for: a precompiled header fits only
/// where it was made. `writable`: one more folder.
Result<NvrtcProcess> start_nvrtc(const NvrtcOptions& options,
                                 const std::optional<Bind>& writable = std::nullopt);

}  // namespace warpsmith::sandbox
