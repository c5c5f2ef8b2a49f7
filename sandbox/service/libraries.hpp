// SPDX-License-Identifier: Apache-2.0
// The files that this program needs to start in an otherwise empty jail.
#pragma once

#include <string>
#include <vector>

namespace warpsmith::sandbox {

/// The loader, every shared library of this process, and the libraries that candidates link
/// against. Absolute paths.
std::vector<std::string> loaded_libraries();

}  // namespace warpsmith::sandbox
