// SPDX-License-Identifier: Apache-2.0
// `gemm` steps on a GPU: cuBLAS for plain products, as in torch's eager mode; cuBLASLt for those
// with an epilogue. Only for sources built with the toolkit.
#pragma once

#include <memory>
#include <vector>

#include "sandbox/launch/library_call.hpp"

namespace warpsmith::sandbox {

/// The workspace that torch gives cuBLAS on the same device, so that both choose the same kernels.
inline constexpr uint64_t gemm_workspace_bytes = 32ULL << 20U;

class GemmLibrary {
 public:
  /// `unsupported` where the libraries cannot be loaded. Throws DeviceError. `context` outlives it.
  static Result<std::unique_ptr<GemmLibrary>> open(const cuda::Context& context);
  virtual ~GemmLibrary() = default;
  GemmLibrary(const GemmLibrary&) = delete;
  GemmLibrary& operator=(const GemmLibrary&) = delete;

  /// `gemm` and `buffers` outlive the result, which must not outlive this object. Throws
  /// DeviceError where the library has no kernel for the product.
  virtual Enqueue prepare(const BoundGemm& gemm, const std::vector<BoundBuffer>& buffers) = 0;

 protected:
  GemmLibrary() = default;
};

}  // namespace warpsmith::sandbox
