// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/cpu/cpu_contract.hpp"

namespace warpsmith::sandbox {

const std::vector<std::string>& cpu_compile_flags() {
  static const std::vector<std::string> flags{
      "-std=c++20",         "-O3",   "-march=native", "-fno-math-errno",
      "-fno-trapping-math", "-fPIC", "-shared",       "-fopenmp-simd"};
  return flags;
}

const std::vector<std::string>& cpu_link_flags() {
  static const std::vector<std::string> flags{"-nostartfiles", "-Wl,--defsym=__dso_handle=_DYNAMIC",
                                              "-Wl,-z,defs", "-Wl,-z,now"};
  return flags;
}

}  // namespace warpsmith::sandbox
