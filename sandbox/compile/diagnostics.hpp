// SPDX-License-Identifier: Apache-2.0
// Shortens the text of compilers and linkers to the few lines that an agent needs. Pure.
#pragma once

#include <string>

namespace warpsmith::sandbox {

/// Errors as `kernel.cpp:line:col: error: …`, and undefined references, at most `max_lines`. Names
/// of temporary files are removed, so that equal sources give equal texts.
std::string summarise_errors(const std::string& compiler_text, size_t max_lines = 5);

/// The same for NVRTC, nvcc and ptxas, as `kernels.cu:line: error: …`.
std::string summarise_cuda_errors(const std::string& compiler_text, size_t max_lines = 5);

/// The same for a build with g++ and nvcc, as `FILE:line: error: …`; for a Python error its last
/// line.
std::string summarise_host_errors(const std::string& compiler_text, size_t max_lines = 5);

}  // namespace warpsmith::sandbox
