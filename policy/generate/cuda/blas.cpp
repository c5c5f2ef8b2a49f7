// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cuda/blas.hpp"

#include <string>

#include "runtime/cuda/device_error.hpp"

namespace warpsmith::policy::cuda {

namespace {

/// cublasGemmEx; the header overloads it.
using MultiplyCall = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                    int, const void*, const void*, cudaDataType, int, const void*,
                                    cudaDataType, int, const void*, void*, cudaDataType, int,
                                    cublasComputeType_t, cublasGemmAlgo_t);

}  // namespace

struct Blas::Calls {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  MultiplyCall* multiply;
};

namespace {

template <class Function>
bool take(const warpsmith::cuda::DynamicLibrary& library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(library.find(name));
  return into != nullptr;
}

std::string library_name() {
  return "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
}

}  // namespace

Result<const Blas::Calls*> Blas::load() {
  static const Result<Calls> loaded = []() -> Result<Calls> {
    const auto library = warpsmith::cuda::DynamicLibrary::open({library_name()});
    if (!library) return fail("cuBLAS", library.error());
    Calls calls{};
    const bool complete = take(*library, "cublasCreate_v2", calls.create) &&
                          take(*library, "cublasDestroy_v2", calls.destroy) &&
                          take(*library, "cublasSetStream_v2", calls.set_stream) &&
                          take(*library, "cublasSetWorkspace_v2", calls.set_workspace) &&
                          take(*library, "cublasGemmEx", calls.multiply);
    if (complete) return calls;
    return fail(ErrorCode::unsupported,
                library_name() + " lacks a call of version " + std::to_string(CUBLAS_VER_MAJOR));
  }();
  if (!loaded) return tl::unexpected(loaded.error());
  return &*loaded;
}

void Blas::Destroy::operator()(cublasHandle_t handle) const noexcept {
  (void)calls->destroy(handle);
}

Blas::Blas(const Calls& calls, cublasHandle_t handle, Precision precision)
    : calls_(&calls), handle_(handle, Destroy{&calls}), precision_(precision) {}

Result<Blas> Blas::make(Precision precision, cudaStream_t stream, void* workspace) {
  const auto calls = load();
  if (!calls) return tl::unexpected(calls.error());
  cublasHandle_t handle = nullptr;
  if (const cublasStatus_t code = (*calls)->create(&handle); code != CUBLAS_STATUS_SUCCESS) {
    return fail(ErrorCode::infrastructure, "cublasCreate: status " + std::to_string(code));
  }
  Blas blas(**calls, handle, precision);
  const bool ready =
      (*calls)->set_stream(handle, stream) == CUBLAS_STATUS_SUCCESS &&
      (*calls)->set_workspace(handle, workspace, static_cast<size_t>(blas_workspace_bytes)) ==
          CUBLAS_STATUS_SUCCESS;
  if (!ready) return fail(ErrorCode::infrastructure, "cuBLAS refused its stream or workspace");
  return blas;
}

void Blas::multiply(const Product& p) const {
  const cudaDataType element = precision_ == Precision::bf16 ? CUDA_R_16BF : CUDA_R_32F;
  const cudaDataType result = p.float_result ? CUDA_R_32F : element;
  const float one = 1;
  const float beta = p.add ? 1 : 0;
  const auto rows = static_cast<int>(p.rows);
  const auto inputs = static_cast<int>(p.inputs);
  const auto outputs = static_cast<int>(p.outputs);
  // Column-major: y^T (outputs, n) = w (outputs, inputs) x^T.
  const cublasStatus_t code = calls_->multiply(
      handle_.get(), CUBLAS_OP_T, CUBLAS_OP_N, outputs, rows, inputs, &one, p.w, element, inputs,
      p.x, element, inputs, &beta, p.y, result, outputs, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  if (code == CUBLAS_STATUS_SUCCESS) return;
  throw warpsmith::cuda::DeviceError(
      "cublasGemmEx (" + std::to_string(p.rows) + ", " + std::to_string(p.inputs) + ") x (" +
          std::to_string(p.outputs) + "): status " + std::to_string(code),
      static_cast<int>(code));
}

}  // namespace warpsmith::policy::cuda
