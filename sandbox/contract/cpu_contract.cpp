// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/cpu_contract.hpp"

namespace warpsmith::sandbox {

const std::vector<std::string>& cpu_compile_flags() {
  static const std::vector<std::string> flags{
      "-std=c++20",         "-O3",   "-march=native", "-fno-math-errno",
      "-fno-trapping-math", "-fPIC", "-shared"};
  return flags;
}

}  // namespace warpsmith::sandbox
