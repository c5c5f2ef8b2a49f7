// SPDX-License-Identifier: Apache-2.0
// The locked stack of a run: hardware and versions, stored beside every result.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace warpsmith {

/// One GPU as the caller found it (runtime/cuda knows, this file does not).
struct GpuRecord {
  std::string name;
  uint64_t memory_bytes = 0;
  std::string driver;  // version
  std::string arch;    // e.g. "sm_90"

  bool operator==(const GpuRecord&) const = default;
};

/// What a result was measured on. Empty or 0: not known.
struct StackRecord {
  std::string warpsmith;  // version of this program
  std::string compiler;   // that built it
  std::string os;         // e.g. "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;     // e.g. "Linux 6.1.0"
  std::string cpu;        // model name
  uint32_t cores = 0;     // that this process may use
  uint64_t memory_bytes = 0;
  std::vector<GpuRecord> gpus;
  std::map<std::string, std::string> versions;  // of libraries: "torch", "caf"

  bool operator==(const StackRecord&) const = default;
};

/// Everything that needs no library: CPU, memory, kernel, OS, compiler.
StackRecord host_stack();

/// Pretty JSON with sorted keys: equal records give equal bytes.
std::string to_json(const StackRecord& stack);

}  // namespace warpsmith
