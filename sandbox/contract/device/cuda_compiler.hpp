// SPDX-License-Identifier: Apache-2.0
// The compiler of contract `device`: NVRTC in warm, jailed processes with a content-addressed
// cache, and nvcc in the compile jail for sources that NVRTC cannot take.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/compile/compiled.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/compile/nvrtc_pool.hpp"
#include "sandbox/protocol/options.hpp"

namespace warpsmith::sandbox {

inline constexpr uint64_t most_global_bytes = 64ULL << 20U;  // of __device__ variables

struct CudaCompilerOptions {
  SandboxOptions sandbox;
  CudaToolchain toolchain;
  std::string architecture = default_architecture;
};

/// The flags of every compilation except the architecture and the folders of headers. Fused
/// multiply-add is on, as in torch's own kernels.
std::vector<std::string> cuda_compile_flags();

/// The source with the names that nvcc provides and NVRTC does not (nvcc includes headers of the
/// host's C library by itself), and with small standard headers: <cmath>, <cstdint>, <cfloat>,
/// <climits>, <cstddef>, <cassert>, <cstdio>, <cstdlib>, <cstring> and their C forms. A file of the
/// source hides one of the same name.
CudaSource with_implicit_names(CudaSource source);

class CudaCompiler {
 public:
  /// `unsupported`, with the reason, if the toolchain does not work.
  static Result<CudaCompiler> open(CudaCompilerOptions options, Deadline deadline);

  /// Compiles kernels.cu and the headers next to it to an inspected cubin, or returns the failing
  /// class with places in the candidate's files. An error is internal.
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
