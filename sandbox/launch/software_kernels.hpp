// SPDX-License-Identifier: Apache-2.0
// CUDA kernels compiled as plain C++ for the software device: blocks and threads one after the
// other. For tests on machines without a GPU. Whatever needs threads that run together (barriers,
// shuffles, clusters, dynamic shared memory) is an error at compile time that says so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/contract/cpu/cpu_compiler.hpp"
#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {

/// What the shared object's one entry (`solve`, as in contract `cpu`) gets as out[0]. The same text
/// is compiled into every shared object.
struct SoftwareCall {
  int64_t kernel = 0;                                 // position in `kernels_of`
  int64_t count = 0;                                  // of arguments
  int64_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};  // an empty grid: checks the arguments only
  const void* const* arguments = nullptr;             // addresses of their values
  const int64_t* bytes = nullptr;                     // of each; 0: a whole number of 4 or 8 bytes
  int64_t wrong = 0;     // answer: 0 carried out; −1 another count; else argument, from 1
  int64_t expected = 0;  // answer: count or bytes that the kernel has
};

/// Kernels that a plan launches, each once, in order of their first launch.
std::vector<std::string> kernels_of(const BoundPlan& plan);

/// The shared object of kernels.cu for this plan; failures as the compiler tells them.
Result<Compiled> compile_software_kernels(CpuCompiler& compiler, const FileSet& submitted,
                                          const BoundPlan& plan, Deadline deadline);

}  // namespace warpsmith::sandbox
