// SPDX-License-Identifier: Apache-2.0
// The compiler of contract `device`: NVRTC in warm, jailed processes behind a content-addressed
// cache, and nvcc in the compile jail for sources that NVRTC cannot take.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/compile/compiled.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/compile/device_architecture.hpp"
#include "sandbox/compile/nvrtc_pool.hpp"

namespace warpsmith::sandbox {

struct CudaCompilerOptions {
  std::string program;  // warpsmith-sandbox
  CudaToolchain toolchain;
  std::string architecture = default_architecture;
  std::string cache_dir;
  uint64_t cache_bytes = 512ULL << 20U;
  uint64_t source_bytes = 256ULL << 10U;
  uint64_t message_bytes = 64ULL << 10U;
  uint64_t global_bytes = 64ULL << 20U;       // of __device__ variables
  std::chrono::milliseconds timeout{30'000};  // of one compilation
  std::vector<int> cores;                     // empty: the calling thread's
  /// While it runs, NVRTC keeps up to 256 MB of precompiled headers in /tmp.
  JailLimits limits{
      .memory_bytes = 2ULL << 30U, .file_bytes = 64ULL << 20U, .tmp_bytes = 512ULL << 20U};
  size_t ready = 1;  // warm workers
};

/// The flags of every compilation beside the architecture and the folders of headers. Fused
/// multiply-add stays on, as in torch's own kernels.
std::vector<std::string> cuda_compile_flags();

class CudaCompiler {
 public:
  /// `unsupported`, with the reason, where the toolchain does not work.
  static Result<CudaCompiler> open(CudaCompilerOptions options, Deadline deadline);

  /// Compiles kernels.cu and the headers beside it to an inspected cubin, or gives the failing
  /// class with places in the candidate's files. An error is a failure of ours.
  Result<Compiled> compile(const FileSet& submitted, Deadline deadline);

 private:
  CudaCompiler(CudaCompilerOptions options, CompileCache cache, NvrtcPool pool);
  Result<Compiled> compile_fresh(const FileSet& files, Deadline deadline);
  Result<Compiled> by_nvcc(const FileSet& files, Deadline deadline) const;
  Compiled inspected(std::string cubin) const;
  Compiled refused(const std::string& log) const;

  CudaCompilerOptions options_;
  CompileCache cache_;
  NvrtcPool pool_;
  std::string toolchain_hash_;
};

}  // namespace warpsmith::sandbox
