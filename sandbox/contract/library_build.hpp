// SPDX-License-Identifier: Apache-2.0
// What an export needs of a contract.
#pragma once

#include <string>
#include <vector>

#include "runtime/submission.hpp"

namespace warpsmith::sandbox {

/// How a solution is built as a library outside of the judge, with the same machine code.
struct LibraryBuild {
  std::vector<std::string> compile_flags, link_flags;
  FileSet headers;  // that solutions may include
  // If not empty: sources compile without `headers` first, then with them and these.
  std::vector<std::string> second_flags;
  // If sources of two compilers make one library: what g++ and nvcc get in addition to
  // `compile_flags`.
  std::vector<std::string> host_flags, cuda_flags;
};

}  // namespace warpsmith::sandbox
