// SPDX-License-Identifier: Apache-2.0
// The findings of `warpsmith doctor`, as text and as JSON, and its checks. Each check takes seconds
// at most and leaves nothing behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "runtime/cuda/driver.hpp"

namespace warpsmith::commands {

enum class FindingState : uint8_t {
  good,
  absent,   // a part is slower or not available; the advice says which
  missing,  // not even the CPU path works without it
};

using FindingValue = std::variant<std::string, int64_t, double, bool>;

/// One finding. A number has its unit in its name ("memory_bytes").
struct Finding {
  std::string area;  // "machine", "jail", "build", "gpu", "device"
  std::string name;
  FindingValue value;
  FindingState state = FindingState::good;
  std::string advice;  // how to get it; empty if good
};

using Findings = std::vector<Finding>;

/// A text grouped by area; missing and absent parts are listed at the end with their advice.
std::string to_text(const Findings& findings);

/// {"areas": {AREA: {NAME: VALUE}}, "absent": [{area, name, advice}], "missing": [...], "ok": bool}
std::string to_json(const Findings& findings);

bool all_present(const Findings& findings);

/// Processor, usable cores, memory, caches, disk.
void check_machine(Findings& findings);
/// Starts one harmless process in a jail and reports which primitives are in force.
void check_jail(Findings& findings);
/// Compilers and tools on this machine; the library versions that the program was built with.
void check_build(Findings& findings);
/// Driver, GPUs, toolkit; runs the canary kernel under CUPTI if there is a GPU.
void check_gpu(Findings& findings);
/// The needs of contract `device`: NVRTC (started in its jail), headers, the toolkit, the libraries
/// of `gemm` and `conv` steps, device nodes; for each GPU, NVML's clocks and the host's memory.
void check_device_contract(Findings& findings);

/// Looks for the program and reports its version.
void check_tool(Findings& findings, const std::string& area, const std::string& program,
                FindingState if_absent, const std::string& advice);

/// Whether the host's memory is out of reach for device code.
void check_host_memory(Findings& findings, const cuda::Gpu& gpu);

/// Looks for each library in `folders`; reports the first folder that has it.
void check_math_libraries(Findings& findings, const std::vector<std::string>& folders);
/// The device nodes that every GPU needs; `dev` is /dev outside tests.
void check_device_nodes(Findings& findings, const std::filesystem::path& dev);

}  // namespace warpsmith::commands
