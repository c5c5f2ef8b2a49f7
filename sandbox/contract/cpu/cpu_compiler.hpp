// SPDX-License-Identifier: Apache-2.0
// The compiler of contract `cpu`: g++ in the compile jail, with a content-addressed cache and a
// precompiled header.
#pragma once

#include <string>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "sandbox/compile/compiled.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/protocol/options.hpp"

namespace warpsmith::sandbox {

/// Whether the sources include library headers, so that the precompiled header saves time. It then
/// comes first (-include): a precompiled header works only there.
bool wants_prelude(const FileSet& files);

class CpuCompiler {
 public:
  /// Reads the toolchain's identity, which is part of every cache key. `unsupported` without a
  /// compiler.
  static Result<CpuCompiler> create(SandboxOptions options);

  /// Compiles kernel.cpp and the headers next to it. Runs no code of the candidate. An error is
  /// internal.
  Result<Compiled> compile(const FileSet& submitted, Deadline deadline);

 private:
  CpuCompiler(SandboxOptions options, CompileCache cache, std::string toolchain_hash);
  void make_prelude_ready();
  JailSpec jail_for(const FileSet& files) const;
  Compiled result_of(JailExit exit) const;
  Result<Compiled> compile_fresh(const FileSet& files, Deadline deadline);

  SandboxOptions options_;
  CompileCache cache_;
  std::string toolchain_hash_;
  std::string prelude_;  // path of the precompiled header; empty: making it failed
};

}  // namespace warpsmith::sandbox
