// SPDX-License-Identifier: Apache-2.0
// The hardware and versions that a run used, stored with every result.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace warpsmith {

/// One GPU, as the caller found it: this file does not query GPUs.
struct GpuRecord {
  std::string name;
  uint64_t memory_bytes = 0;
  std::string driver;  // version
  std::string arch;    // e.g. "sm_90"

  bool operator==(const GpuRecord&) const = default;
};

/// The machine and software that a result was measured on. Unknown values are empty or 0.
struct StackRecord {
  std::string warpsmith;  // version of this program
  std::string compiler;   // that built it
  std::string os;         // e.g. "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;     // e.g. "Linux 6.1.0"
  std::string cpu;        // model name
  uint32_t cores = 0;     // usable by this process
  uint64_t memory_bytes = 0;
  std::vector<GpuRecord> gpus;
  std::map<std::string, std::string> versions;  // of libraries: "torch", "caf"

  bool operator==(const StackRecord&) const = default;
};

/// The parts that need no library: CPU, memory, kernel, OS, compiler.
StackRecord host_stack();

/// Pretty JSON with sorted keys: equal records give equal bytes.
std::string to_json(const StackRecord& stack);

/// "/cores: 8 before, 4 now" for each field of two such texts that differs.
std::vector<std::string> record_differences(const std::string& before, const std::string& now);

}  // namespace warpsmith
