// SPDX-License-Identifier: Apache-2.0
// Which files a program of ours needs to start inside a jail that holds nothing else.
#pragma once

#include <string>
#include <vector>

namespace warpsmith::sandbox {

/// The loader and every shared library loaded into this process, and the vector mathematics library
/// that candidates link against. Absolute paths as the loader knows them.
std::vector<std::string> loaded_libraries();

}  // namespace warpsmith::sandbox
