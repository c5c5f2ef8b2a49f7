// SPDX-License-Identifier: Apache-2.0
// The command lines of contract `host`'s extension, as scripts for the compile jail. Pure.
#pragma once

#include <string>
#include <vector>

#include "sandbox/contract/host/host_toolchain.hpp"
#include "sandbox/contract/library_build.hpp"

namespace warpsmith::sandbox {

inline constexpr const char* jail_toolkit = "/toolkit";  // where the CUDA toolkit is bound

/// `architecture`: "90a" for sm_90a.
struct HostBuild {
  const HostToolchain& toolchain;
  std::string architecture;
  int jobs = 2;  // compilers at a time: a file that includes torch's headers takes 1.3 GB
};

/// How the extension is built outside of the judge: kernels/*.cu by nvcc, kernels/*_binding.cpp and
/// the module's source by g++, with the registry beside kernels/. TORCH_EXTENSION_NAME is the
/// caller's: pybind11 takes a second module of one name for the first.
LibraryBuild host_library_build();

/// Compiles one source, by its name's ending, to an object. The output goes to standard error at
/// the end.
std::string host_compile_script(const HostBuild& build);
/// Compiles all sources and links them; the shared object goes to standard output.
std::string host_build_script(const HostBuild& build);

}  // namespace warpsmith::sandbox
