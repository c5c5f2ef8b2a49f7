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
/// loop is not vectorised (a relu took 5.9 ms instead of 0.31). -fopenmp-simd: `#pragma omp simd`
/// without any run-time library.
const std::vector<std::string>& cpu_compile_flags();

/// Flags of the link that goes with them: no start files, so that nothing but the candidate's own
/// constructors could run at load time (and those are refused); every symbol defined.
const std::vector<std::string>& cpu_link_flags();

/// `#include "warpsmith.h"`: integer types and the mathematics that kernels need, with vector
/// variants declared: glibc 2.35 or later holds them all. It costs a third of what <cmath> costs.
inline constexpr const char* cpu_header_file = "warpsmith.h";
extern const char* const cpu_header_text;

}  // namespace warpsmith::sandbox
