// SPDX-License-Identifier: Apache-2.0
// Shared by tests of the sandbox: the program's path, a scratch folder, compiled kernels.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/run/remove_tree.hpp"
#include "sandbox/contract/cpu/cpu_compiler.hpp"

namespace warpsmith::sandbox::testing {

/// A folder that is removed with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "warpsmith-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    path_ = name;
  }
  ~ScratchFolder() {
    (void)remove_tree(path_);  // some tests leave trees that std::filesystem cannot remove
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline Deadline in_seconds(int seconds) {
  return Deadline::after(std::chrono::seconds{seconds});
}

/// For a wait that an event ends, however long the machine stands still meanwhile.
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
  static const ScratchFolder folder;
  static auto compiler = [] {
    CompilerOptions options;
    options.cache_dir = folder.path() + "/cache";
    return CpuCompiler::create(options);
  }();
  if (!compiler) throw std::runtime_error(compiler.error().message);
  auto compiled = compiler->compile({{"kernel.cpp", source}}, hang_guard());
  if (!compiled) throw std::runtime_error(compiled.error().message);
  if (compiled->failure) throw std::runtime_error(compiled->text);
  return compiled->artefact;
}

}  // namespace warpsmith::sandbox::testing
