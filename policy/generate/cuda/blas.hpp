// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLAS, which is loaded at run time: LibTorch's wheel brings it, and a program
// built with a toolkit still starts where there is none. For sources built with the toolkit only.
#pragma once

#include <cublas_v2.h>

#include <memory>

#include "policy/generate/cuda/precision.hpp"
#include "runtime/cuda/dynamic_library.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy::cuda {

/// y (n, outputs) = x (n, inputs) w^T, with w (outputs, inputs); all row-major. x and w are
/// elements; y is float if `float_result`, else elements. `add` adds to y instead.
struct Product {
  const void* x = nullptr;
  const void* w = nullptr;
  void* y = nullptr;
  int64_t rows = 0, inputs = 0, outputs = 0;
  bool float_result = false;
  bool add = false;
};

class Blas {
 public:
  /// For the current context. `workspace` has `blas_workspace_bytes` of device memory and outlives
  /// this. `unsupported` if cuBLAS is not found, `infrastructure` if it does not start.
  static Result<Blas> make(Precision precision, cudaStream_t stream, void* workspace);

  /// Puts a product on the stream. Sums are float32, never TF32. Throws DeviceError.
  void multiply(const Product& product) const;

 private:
  struct Calls;
  struct Destroy {
    const Calls* calls;
    void operator()(cublasHandle_t handle) const noexcept;
  };
  Blas(const Calls& calls, cublasHandle_t handle, Precision precision);
  static Result<const Calls*> load();

  const Calls* calls_;
  std::unique_ptr<cublasContext, Destroy> handle_;
  Precision precision_;
};

}  // namespace warpsmith::policy::cuda
