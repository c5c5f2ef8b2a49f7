// SPDX-License-Identifier: Apache-2.0
// The checks of `doctor`. Each takes seconds at most and leaves nothing behind.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "commands/doctor/doctor_report.hpp"
#include "runtime/cuda/driver.hpp"

namespace warpsmith::commands {

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

/// Whether the host's memory is out of reach for device code.
void check_host_memory(Findings& findings, const cuda::Gpu& gpu);

/// Looks for each library in `folders`; reports the first folder that has it.
void check_math_libraries(Findings& findings, const std::vector<std::string>& folders);
/// The device nodes that every GPU needs; `dev` is /dev outside tests.
void check_device_nodes(Findings& findings, const std::filesystem::path& dev);

}  // namespace warpsmith::commands
