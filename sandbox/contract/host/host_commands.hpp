// SPDX-License-Identifier: Apache-2.0
// The command lines of contract `host`'s extension, as scripts for the compile jail. Pure.
#pragma once

#include <string>
#include <vector>

#include "sandbox/contract/host/host_toolchain.hpp"

namespace warpsmith::sandbox {

inline constexpr const char* jail_toolkit = "/toolkit";  // where the CUDA toolkit is bound

/// `architecture`: "90a" for sm_90a.
struct HostBuild {
  const HostToolchain& toolchain;
  std::string architecture;
  int jobs = 2;  // compilers at a time: a file that includes torch's headers takes 1.3 GB
};

/// One source to an object, by its name's end; all it writes goes to standard error at its end.
std::string host_compile_script(const HostBuild& build);
/// All sources, then the link; the shared object goes to standard output.
std::string host_build_script(const HostBuild& build);

}  // namespace warpsmith::sandbox
