// SPDX-License-Identifier: Apache-2.0
// NVRTC, CUDA's run-time compiler, taken at run time. Needs no toolkit to build and no driver or
// GPU to run.
#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/dynamic_library.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"

namespace warpsmith::sandbox {

/// One translation unit; what is beside it in `files` can be included by name.
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
  bool failed = false;  // the compiler itself, which says nothing about the source
  std::string log;      // what the compiler said
  std::string cubin;    // if compiled

  template <class Archive>
  void serialize(Archive& archive) {
    archive(compiled, failed, log, cubin);
  }
};

class NvrtcLibrary {
 public:
  /// `unsupported` if none of `names` loads or lacks a function.
  static Result<NvrtcLibrary> load(const std::vector<std::string>& names);

  /// e.g. "13.0"
  const std::string& version() const { return version_; }
  /// What the source does wrong is in the log; an error is NVRTC's own failure. Requires that
  /// `source.files` holds `source.main`.
  Result<CudaObject> compile(const CudaSource& source) const;

 private:
  explicit NvrtcLibrary(cuda::DynamicLibrary library) : library_(library) {}

  cuda::DynamicLibrary library_;
  std::string version_;
  bool precompiles_ = false;  // NVRTC 12.8 and later: options that speak of it are left out else
};

}  // namespace warpsmith::sandbox
