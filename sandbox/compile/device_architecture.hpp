// SPDX-License-Identifier: Apache-2.0
// What device code is compiled for.
#pragma once

#include <string>

namespace warpsmith::sandbox {

/// Where there is no GPU to ask: of sm_90a, the H100 and the H200.
inline constexpr const char* default_architecture = "90a";

/// Of a compute capability: "80", "90a". From 9.0 on with the instructions that only this one has
/// (wgmma, setmaxnreg).
inline std::string architecture_of(int major, int minor) {
  return std::to_string(major) + std::to_string(minor) + (major >= 9 ? "a" : "");
}

}  // namespace warpsmith::sandbox
