// SPDX-License-Identifier: Apache-2.0
// The facts of a cubin's kernels, read without loading it. Pure.
//
// NVIDIA does not document the layout of .nv.info; the attributes used here were checked
// against compiled kernels whose figures are known (tests/sandbox/compile/cuda_compiler_test.cpp).
// On a device, launch/kernel_launch.hpp reads the parameters from the driver.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/compile/artefact_inspector.hpp"

namespace warpsmith::sandbox {

/// Shared memory that the system reserves in every block from sm_90 on, beyond a block's limit.
inline constexpr uint32_t reserved_shared_bytes = 1024;

/// Limit of a thread's local memory. The driver allocates it for every thread that the device can
/// hold (270,000 on an H200), from the memory that all services on the device share.
inline constexpr uint32_t most_stack_bytes = 16U << 10U;

struct KernelParameter {
  uint32_t offset = 0;  // bytes, from the first parameter
  uint32_t bytes = 0;
};

struct KernelFacts {
  uint32_t registers = 0;     // of one thread
  uint32_t stack_bytes = 0;   // local memory of one thread: arrays, spilled registers
  uint32_t shared_bytes = 0;  // static shared memory of one block, without the system's own
  uint32_t max_threads = 0;   // of a block, by __launch_bounds__; 0: none given
  std::vector<KernelParameter> parameters;  // by position
};

struct CubinFacts {
  uint32_t architecture = 0;  // 90 for sm_90 and sm_90a
  std::map<std::string, KernelFacts> kernels;
  std::vector<std::string> missing;    // functions that it calls and does not define
  std::vector<std::string> variables;  // in device and constant memory, as the linker names them
  uint64_t global_bytes = 0;           // of its __device__ variables
};

/// Every offset and count is checked against the bytes; anything but a 64-bit CUDA executable is
/// `parse_failed` with the place.
Result<CubinFacts> read_cubin(std::string_view elf);

/// The objection of contract `device`, if any: calls of the device's run-time (printf, malloc,
/// assert, launches from the device), no kernel, more than `global_bytes` of variables, more local
/// memory than `most_stack_bytes`.
std::optional<Objection> objection_to(const CubinFacts& facts, uint64_t global_bytes);

}  // namespace warpsmith::sandbox
