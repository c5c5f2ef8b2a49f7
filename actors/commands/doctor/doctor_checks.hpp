// SPDX-License-Identifier: Apache-2.0
// What `doctor` looks at. Each check takes seconds at most and leaves nothing behind.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "actors/commands/doctor/doctor_report.hpp"
#include "runtime/cuda/driver.hpp"

namespace warpsmith::actors {

/// Processor, cores we may use, memory, caches, disk.
void check_machine(Findings& findings);
/// Starts one harmless process in a jail and reports what was in force.
void check_jail(Findings& findings);
/// Compilers and tools found now; library versions that the program was built with.
void check_build(Findings& findings);
/// Driver, GPUs, toolkit; runs the canary kernel under CUPTI where there is a GPU.
void check_gpu(Findings& findings);
/// What contract `device` needs: NVRTC, which is started in its jail, headers, the toolkit, the
/// libraries of `gemm` and `conv` steps, device nodes; of each GPU whether NVML answers and whether
/// kernels are kept off the host's memory.
void check_device_contract(Findings& findings);

/// Whether device code is kept off the host's memory.
void check_host_memory(Findings& findings, const cuda::Gpu& gpu);

/// Of these folders the first with each library.
void check_math_libraries(Findings& findings, const std::vector<std::string>& folders);
/// The nodes that every GPU needs; `dev` is /dev.
void check_device_nodes(Findings& findings, const std::filesystem::path& dev);

}  // namespace warpsmith::actors
