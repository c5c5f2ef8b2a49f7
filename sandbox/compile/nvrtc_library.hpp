// SPDX-License-Identifier: Apache-2.0
// NVRTC, CUDA's run-time compiler, loaded at run time. Needs no toolkit to build and no driver or
// GPU to run.
#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/dynamic_library.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"

namespace warpsmith::sandbox {

/// One translation unit. It can include the other files by name.
struct CudaSource {
  FileSet files;
  std::string main;                  // the file that is compiled
  std::vector<std::string> options;  // e.g. --gpu-architecture=sm_90a

  template <class Archive>
  void serialize(Archive& archive) {
    archive(files, main, options);
  }
};

struct CudaObject {
  bool compiled = false;
  bool failed = false;  // the compiler failed, not the source
  std::string log;      // the compiler's messages
  std::string cubin;    // if compiled

  template <class Archive>
  void serialize(Archive& archive) {
    archive(compiled, failed, log, cubin);
  }
};

class NvrtcLibrary {
 public:
  /// `unsupported` if none of `names` loads, or one lacks a function.
  static Result<NvrtcLibrary> load(const std::vector<std::string>& names);

  /// e.g. "13.0"
  const std::string& version() const { return version_; }
  /// The source's errors are in the log; an error here is NVRTC's. Requires that `source.files`
  /// holds `source.main`.
  Result<CudaObject> compile(const CudaSource& source) const;

 private:
  explicit NvrtcLibrary(cuda::DynamicLibrary library) : library_(library) {}

  cuda::DynamicLibrary library_;
  std::string version_;
  bool precompiles_ = false;  // NVRTC 12.8 and later; else such options are dropped
};

}  // namespace warpsmith::sandbox
