// SPDX-License-Identifier: Apache-2.0
// Shared by tests of the sandbox: the program's path, a scratch folder, compiled kernels.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "sandbox/contract/cpu/cpu_compiler.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox::testing {

inline Deadline in_seconds(int seconds) {
  return Deadline::after(std::chrono::seconds{seconds});
}

/// For a wait that an event ends, however long the machine freezes meanwhile.
inline Deadline hang_guard() {
  return in_seconds(120);
}

/// Whether the process runs; a zombie does not.
inline bool is_running(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return stat >> number >> name >> state && state != "Z";
}

/// The path of warpsmith-sandbox, set by CMake.
inline std::string sandbox_program() {
  return WARPSMITH_SANDBOX_PROGRAM;
}

/// Compiles a kernel; throws if it does not compile.
inline std::string compile_kernel(const std::string& source) {
  static const test_support::TemporaryFolder folder;
  static auto compiler = CpuCompiler::create({.cache_dir = folder.path()});
  if (!compiler) throw std::runtime_error(compiler.error().message);
  auto compiled = compiler->compile({{"kernel.cpp", source}}, hang_guard());
  if (!compiled) throw std::runtime_error(compiled.error().message);
  if (compiled->failure) throw std::runtime_error(compiled->text);
  return compiled->artefact;
}

}  // namespace warpsmith::sandbox::testing
