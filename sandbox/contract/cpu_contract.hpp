// SPDX-License-Identifier: Apache-2.0
// The `cpu` contract: C++ with one exported function over raw pointers. Flags are ours, never the
// candidate's.
#pragma once

#include <string>
#include <vector>

namespace warpsmith::sandbox {

/// extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims)
inline constexpr const char* cpu_entry_point = "solve";
inline constexpr const char* cpu_source_file = "kernel.cpp";

/// Compiler flags, in order. -fno-math-errno and -fno-trapping-math: without them a ternary in a
/// loop is not vectorised (a relu took 5.9 ms instead of 0.31).
const std::vector<std::string>& cpu_compile_flags();

}  // namespace warpsmith::sandbox
