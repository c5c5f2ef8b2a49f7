// SPDX-License-Identifier: Apache-2.0
// The compiler of contract `host`, with a content-addressed cache. The judge's own command lines
// compile the workspace's sources, and no code of the candidate runs. Extensions of torch's loaders
// are built by running model_new.py in a jail that has compilers but no GPU and no network, and
// that ends with all its processes. The jail in which the candidate is timed has no compiler.
//
// There is no precompiled header: torch's would take 700 MB and save less than half of a compile.
#pragma once

#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/compile/compiled.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/contract/host/host_submission.hpp"
#include "sandbox/contract/library_build.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/protocol/options.hpp"

namespace warpsmith::sandbox {

/// What builds an extension for an interpreter's torch. Folders of the host.
struct HostToolchain {
  std::string python;          // the interpreter
  std::string python_headers;  // hold Python.h
  std::string torch;           // the package, with include/ and lib/
  std::string torch_version;   // the text of its version file
  std::string cuda;            // toolkit with nvcc; empty: none
  bool torch_has_cuda = false;
};

/// Runs the interpreter, without importing torch. `unsupported` if it lacks torch or headers.
/// `cuda_root` is a toolkit or empty; if it contains no nvcc, the nvcc in PATH is used.
Result<HostToolchain> find_host_toolchain(const std::string& python, const std::string& cuda_root);

/// How the extension is built outside of the judge: kernels/*.cu by nvcc, kernels/*_binding.cpp and
/// the module's source by g++, with the registry next to kernels/. The
/// caller sets TORCH_EXTENSION_NAME: pybind11 takes a second module of one name for the first.
LibraryBuild host_library_build();

struct HostCompilerOptions {
  SandboxOptions sandbox;
  HostToolchain toolchain;
  std::string architecture = default_architecture;
};

class HostCompiler {
 public:
  static Result<HostCompiler> open(HostCompilerOptions options);

  /// The artefact of kind `submission.artefact`; empty for `none`. `task` is the text whose
  /// get_init_inputs makes ModelNew while torch's loaders build. An error is internal.
  Result<Compiled> compile(const HostSubmission& submission, const std::string& task,
                           Deadline deadline);

 private:
  HostCompiler(HostCompilerOptions options, CompileCache cache);
  Result<JailSpec> extension_jail(const HostSubmission& submission) const;
  Result<JailSpec> loaders_jail(const HostSubmission& submission, const std::string& task) const;
  Compiled result_of(JailExit exit) const;

  HostCompilerOptions options_;
  CompileCache cache_;
  std::string toolchain_hash_;
};

}  // namespace warpsmith::sandbox
