// SPDX-License-Identifier: Apache-2.0
// Contract `cpu`: C++ with one exported function over raw pointers, compiled by g++ with fixed
// flags and called by a trusted runner in a jail.
#pragma once

#include <string>
#include <vector>

namespace warpsmith::sandbox {

/// extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims)
/// `dims`: all_extents of the signature.
inline constexpr const char* cpu_entry_point = "solve";
inline constexpr const char* cpu_source_file = "kernel.cpp";

/// Compiler flags, in order. Without -fno-math-errno and -fno-trapping-math a ternary in a loop is
/// not vectorised (a relu took 5.9 ms instead of 0.31). -fopenmp-simd enables `#pragma omp simd`
/// without a run-time library.
const std::vector<std::string>& cpu_compile_flags();

/// Link flags. Without start files only the candidate's own constructors could run at load time,
/// and those are refused. Every symbol must be defined.
const std::vector<std::string>& cpu_link_flags();

/// `#include "warpsmith.h"` declares integer types and the mathematics that kernels need, with
/// vector variants (glibc 2.35 or later has them all). It compiles in a third of the time of
/// <cmath>.
inline constexpr const char* cpu_header_file = "warpsmith.h";
extern const char* const cpu_header_text;

}  // namespace warpsmith::sandbox
