// SPDX-License-Identifier: Apache-2.0
// CUDA kernels compiled as plain C++ for the software device, which runs blocks and threads one
// after the other. Barriers, shuffles, clusters and dynamic shared memory need threads that run
// together: they are compile errors that say so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/contract/cpu/cpu_compiler.hpp"
#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox::testing {

/// The argument out[0] of the shared object's only entry, `solve`, as in contract `cpu`. The text
/// compiled into every shared object declares the same record.
struct SoftwareCall {
  int64_t kernel = 0;                                 // position in `kernels_of`
  int64_t count = 0;                                  // of arguments
  int64_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};  // an empty grid: checks the arguments only
  const void* const* arguments = nullptr;             // addresses of their values
  const int64_t* bytes = nullptr;                     // of each; 0: an integer of 4 or 8 bytes
  int64_t wrong = 0;     // answer: 0 done; −1 wrong count; else the wrong argument, from 1
  int64_t expected = 0;  // answer: count or bytes that the kernel takes
};

/// Names of the kernels that a plan launches, each once, in order of their first launch.
std::vector<std::string> kernels_of(const BoundPlan& plan);

/// The shared object of kernels.cu for this plan, or the compiler's failure.
Result<Compiled> compile_software_kernels(CpuCompiler& compiler, const FileSet& submitted,
                                          const BoundPlan& plan, Deadline deadline);

}  // namespace warpsmith::sandbox::testing
