// SPDX-License-Identifier: Apache-2.0
// The compiler of contract `cpu`: g++ in the compile jail, behind a content-addressed cache, with a
// precompiled header.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "sandbox/compile/cache.hpp"
#include "sandbox/compile/compiled.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

struct CompilerOptions {
  std::string compiler = "/usr/bin/g++";
  std::string cache_dir;                      // made if missing
  uint64_t cache_bytes = 512ULL << 20U;       // least recently used entries go first
  uint64_t source_bytes = 256ULL << 10U;      // largest source taken
  uint64_t message_bytes = 64ULL << 10U;      // kept of the compiler's messages
  std::chrono::milliseconds timeout{20'000};  // of one compilation
  std::vector<int> cores;                     // empty: the calling thread's
  JailLimits limits{.memory_bytes = 1ULL << 30U, .file_bytes = 32ULL << 20U};
};

class CpuCompiler {
 public:
  /// Reads the toolchain's identity, which is part of every cache key. `unsupported` without a
  /// compiler.
  static Result<CpuCompiler> create(CompilerOptions options);

  /// Compiles kernel.cpp and the headers beside it. Runs no code of the candidate. An error is a
  /// failure of ours.
  Result<Compiled> compile(const FileSet& submitted, Deadline deadline);

 private:
  CpuCompiler(CompilerOptions options, CompileCache cache, std::string toolchain_hash);
  void ready_prelude();
  JailSpec jail_for(const FileSet& files) const;
  Compiled judged(JailExit exit) const;
  Result<Compiled> compile_fresh(const FileSet& files, Deadline deadline);

  CompilerOptions options_;
  CompileCache cache_;
  std::string toolchain_hash_;
  std::string prelude_;  // path of the precompiled header; empty: making it failed
};

}  // namespace warpsmith::sandbox
