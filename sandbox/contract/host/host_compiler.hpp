// SPDX-License-Identifier: Apache-2.0
// The compiler of contract `host`, behind a content-addressed cache. Our own command lines compile
// the workspace's sources, and no code of the candidate runs. Extensions of torch's loaders are
// built by running model_new.py in a jail that has compilers but no GPU and no network, and that
// ends with all its processes. The jail in which the candidate is timed has no compiler.
//
// There is no precompiled header: torch's would take 700 MB and save less than half of a compile.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "sandbox/compile/cache.hpp"
#include "sandbox/compile/compiled.hpp"
#include "sandbox/compile/device_architecture.hpp"
#include "sandbox/contract/host/host_commands.hpp"
#include "sandbox/contract/host/host_submission.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

struct HostCompilerOptions {
  HostToolchain toolchain;
  std::string worker_folder;  // the worker's Python files: host_builder.py
  std::string architecture = default_architecture;
  std::string cache_dir;
  uint64_t cache_bytes = 512ULL << 20U;
  uint64_t message_bytes = 64ULL << 10U;       // kept of the compilers' messages
  std::chrono::milliseconds timeout{180'000};  // less where the caller has less time
  std::vector<int> cores;                      // empty: the calling thread's
  JailLimits limits{.memory_bytes = 8ULL << 30U,
                    .processes = 256,
                    .file_bytes = 256ULL << 20U,
                    .tmp_bytes = 1ULL << 30U,
                    .open_files = 1024,
                    .cpu = std::chrono::seconds{180},
                    .output_bytes = 256ULL << 20U};
};

class HostCompiler {
 public:
  static Result<HostCompiler> open(HostCompilerOptions options);

  /// The artefact of kind `submission.artefact`; empty for `none`. `task` is the text whose
  /// get_init_inputs makes ModelNew while torch's loaders build. An error is a failure of ours.
  Result<Compiled> compile(const HostSubmission& submission, const std::string& task,
                           Deadline deadline);

 private:
  HostCompiler(HostCompilerOptions options, CompileCache cache);
  Result<JailSpec> extension_jail(const HostSubmission& submission) const;
  Result<JailSpec> loaders_jail(const HostSubmission& submission, const std::string& task) const;
  Compiled judged(JailExit exit) const;

  HostCompilerOptions options_;
  CompileCache cache_;
  std::string toolchain_hash_;
};

}  // namespace warpsmith::sandbox
