// SPDX-License-Identifier: Apache-2.0
// From the compiler's and linker's text to the few lines that an agent needs. Pure.
#pragma once

#include <string>

namespace warpsmith::sandbox {

/// Errors as `kernel.cpp:line:col: error: …`, undefined references as such, at most `max_lines`;
/// temporary names are taken out, so that equal sources give equal texts.
std::string summarise_errors(const std::string& compiler_text, size_t max_lines = 5);

/// The same of NVRTC, nvcc and ptxas, as `kernels.cu:line: error: …`.
std::string summarise_cuda_errors(const std::string& compiler_text, size_t max_lines = 5);

/// The same of a build with g++ and nvcc in one, as `FILE:line: error: …`; of Python, its last
/// line.
std::string summarise_host_errors(const std::string& compiler_text, size_t max_lines = 5);

}  // namespace warpsmith::sandbox
