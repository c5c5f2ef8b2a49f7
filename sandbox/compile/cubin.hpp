// SPDX-License-Identifier: Apache-2.0
// What a cubin says about its kernels, read without loading it. Pure.
//
// The layout of .nv.info is not documented by its maker; the attributes used here were checked
// against compiled kernels whose figures are known (tests/sandbox/compile/cuda_compiler_test.cpp).
// On a device the driver's own account of the parameters decides (launch/kernel_launch.hpp).
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

/// Static shared memory that the system keeps for itself in every block from sm_90 on, beside the
/// most that a block may ask for.
inline constexpr uint32_t reserved_shared_bytes = 1024;

/// Local memory that a thread may have. The driver takes it for as many threads as the device can
/// hold (270,000 on an H200), from what all services that share the device have.
inline constexpr uint32_t most_stack_bytes = 16U << 10U;

struct KernelParameter {
  uint32_t offset = 0;  // bytes, from the first parameter
  uint32_t bytes = 0;
};

struct KernelFacts {
  uint32_t registers = 0;     // of one thread
  uint32_t stack_bytes = 0;   // local memory of one thread: arrays, spilled registers
  uint32_t shared_bytes = 0;  // static shared memory of one block, without the system's own
  uint32_t max_threads = 0;   // of a block, by __launch_bounds__; 0: not said
  std::vector<KernelParameter> parameters;  // by position
};

struct CubinFacts {
  uint32_t architecture = 0;  // 90 for sm_90 and sm_90a
  std::map<std::string, KernelFacts> kernels;
  std::vector<std::string> missing;    // functions that it calls and does not hold
  std::vector<std::string> variables;  // in device and constant memory, as the linker names them
  uint64_t global_bytes = 0;           // of its own device memory
};

/// Every offset and count is checked against the bytes; anything but a 64-bit CUDA executable is
/// `parse_failed` with the place.
Result<CubinFacts> read_cubin(std::string_view elf);

/// What contract `device` forbids: calls of the device's run-time (printf, malloc, assert, launches
/// from the device), a file without kernels, more own memory than `global_bytes`, more local memory
/// than `most_stack_bytes`.
std::optional<Objection> objection_to(const CubinFacts& facts, uint64_t global_bytes);

}  // namespace warpsmith::sandbox
