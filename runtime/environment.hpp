// SPDX-License-Identifier: Apache-2.0
// Finds the program's folders, its Python interpreter and its caches.
#pragma once

#include <filesystem>
#include <string>

namespace warpsmith {

/// The project's version, as in CMakeLists.txt.
std::string program_version();

/// The folder of this executable.
std::filesystem::path executable_folder();

/// The checkout, which contains configs/ and scripts/: WARPSMITH_HOME, else the place of the build.
std::filesystem::path source_folder();

/// The Python interpreter whose environment contains torch: WARPSMITH_PYTHON, else the one the
/// program was built with. Empty if neither is set.
std::filesystem::path python_interpreter();

/// `warpsmith-sandbox` of this build: WARPSMITH_SANDBOX, else in the build tree next to this
/// executable's folder.
std::filesystem::path sandbox_program();

/// XDG_CACHE_HOME/warpsmith, else ~/.cache/warpsmith. The folder is not created.
std::filesystem::path cache_folder();

}  // namespace warpsmith
