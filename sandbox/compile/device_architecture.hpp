// SPDX-License-Identifier: Apache-2.0
// The architecture that device code is compiled for.
#pragma once

#include <string>

namespace warpsmith::sandbox {

/// Used without a GPU: sm_90a, the H100 and the H200.
inline constexpr const char* default_architecture = "90a";

/// The architecture of a compute capability: "80", "90a". From 9.0 on it includes the instructions
/// of that capability alone (wgmma, setmaxnreg).
inline std::string architecture_of(int major, int minor) {
  return std::to_string(major) + std::to_string(minor) + (major >= 9 ? "a" : "");
}

}  // namespace warpsmith::sandbox
