// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace warpsmith::sandbox {

/// Base names of the libraries in the text of /proc/PID/maps that compute (NVIDIA's, triton's,
/// OpenMP's), sorted, once each. Pure.
std::vector<std::string> computing_libraries(const std::string& maps);

}  // namespace warpsmith::sandbox
