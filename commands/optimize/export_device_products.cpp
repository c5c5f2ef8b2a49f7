// SPDX-License-Identifier: Apache-2.0
// What op.cpp has where a plan of contract `device` multiplies.
#include "commands/optimize/export_templates.hpp"

namespace warpsmith::commands {

const char* const export_device_products = R"op(
constexpr size_t product_workspace = size_t{32} << 20U;  // as the judge's

struct Matrix {
  size_t buffer;
  cudaDataType type;
  int64_t rows, columns, row, stride;  // as stored, row-major; elements to the next row and matrix
  bool transposed;
};

struct Product {
  Matrix out, a, b;
  int64_t m, n, k, batch;
  cublasComputeType_t compute;
  uint32_t alpha, beta;  // the bits of floats
};

float float_of(uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void succeed(cublasStatus_t code, const char* what) {
  TORCH_CHECK(code == CUBLAS_STATUS_SUCCESS, "@PACKAGE@: ", what, " failed with code ",
              static_cast<int>(code));
}
#define CALL_CUBLAS(function, ...) succeed(function(__VA_ARGS__), TEXT_OF(function))

cublasOperation_t operation(const Matrix& matrix) {
  return matrix.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/// out = alpha · a · b + beta · out. cuBLAS is column-major: it computes outᵀ = bᵀ · aᵀ.
void multiply(const Call& c, const Product& p) {
  const cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
  CALL_CUBLAS(cublasSetMathMode, handle, CUBLAS_DEFAULT_MATH);  // torch may have allowed TF32
  const float alpha = float_of(p.alpha), beta = float_of(p.beta);
  const auto narrow = [](int64_t value) { return static_cast<int>(value); };
  if (p.batch == 1) {
    CALL_CUBLAS(cublasGemmEx, handle, operation(p.b), operation(p.a), narrow(p.n), narrow(p.m),
           narrow(p.k), &alpha, c.pointer(p.b.buffer), p.b.type, narrow(p.b.row),
           c.pointer(p.a.buffer), p.a.type, narrow(p.a.row), &beta, c.pointer(p.out.buffer),
           p.out.type, narrow(p.out.row), p.compute, CUBLAS_GEMM_DEFAULT);
    return;
  }
  CALL_CUBLAS(cublasGemmStridedBatchedEx, handle, operation(p.b), operation(p.a), narrow(p.n),
         narrow(p.m), narrow(p.k), &alpha, c.pointer(p.b.buffer), p.b.type, narrow(p.b.row),
         p.b.stride, c.pointer(p.a.buffer), p.a.type, narrow(p.a.row), p.a.stride, &beta,
         c.pointer(p.out.buffer), p.out.type, narrow(p.out.row), p.out.stride, narrow(p.batch),
         p.compute, CUBLAS_GEMM_DEFAULT);
}

/// Destroys what cuBLASLt made.
template <class T>
using Made = std::unique_ptr<std::remove_pointer_t<T>, cublasStatus_t (*)(T)>;

Made<cublasLtMatrixLayout_t> layout_of(const Matrix& matrix, int32_t batch) {
  cublasLtMatrixLayout_t made = nullptr;
  CALL_CUBLAS(cublasLtMatrixLayoutCreate, &made, matrix.type, static_cast<uint64_t>(matrix.columns),
         static_cast<uint64_t>(matrix.rows), matrix.row);
  Made<cublasLtMatrixLayout_t> layout(made, &cublasLtMatrixLayoutDestroy);
  CALL_CUBLAS(cublasLtMatrixLayoutSetAttribute, made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
         sizeof batch);
  CALL_CUBLAS(cublasLtMatrixLayoutSetAttribute, made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
         &matrix.stride, sizeof matrix.stride);
  return layout;
}

/// The same with an epilogue, by the first algorithm that the heuristics name, as the judge does.
void multiply(const Call& c, const Product& p, cublasLtEpilogue_t epilogue, CUdeviceptr bias) {
  const cublasLtHandle_t handle = at::cuda::getCurrentCUDABlasLtHandle();
  cublasLtMatmulDesc_t made = nullptr;
  CALL_CUBLAS(cublasLtMatmulDescCreate, &made, p.compute, CUDA_R_32F);
  const Made<cublasLtMatmulDesc_t> what(made, &cublasLtMatmulDescDestroy);
  const auto set = [&](cublasLtMatmulDescAttributes_t which, const auto& value) {
    CALL_CUBLAS(cublasLtMatmulDescSetAttribute, what.get(), which, &value, sizeof value);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, operation(p.b));
  set(CUBLASLT_MATMUL_DESC_TRANSB, operation(p.a));
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (bias != 0) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const auto batch = static_cast<int32_t>(p.batch);
  const auto a = layout_of(p.a, batch), b = layout_of(p.b, batch), out = layout_of(p.out, batch);
  cublasLtMatmulPreference_t wish = nullptr;
  CALL_CUBLAS(cublasLtMatmulPreferenceCreate, &wish);
  const Made<cublasLtMatmulPreference_t> preference(wish, &cublasLtMatmulPreferenceDestroy);
  CALL_CUBLAS(cublasLtMatmulPreferenceSetAttribute, wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
         &product_workspace, sizeof product_workspace);
  const uint32_t alignment = 64;
  for (const auto which :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    CALL_CUBLAS(cublasLtMatmulPreferenceSetAttribute, wish, which, &alignment, sizeof alignment);
  }
  cublasLtMatmulHeuristicResult_t best{};
  int count = 0;
  CALL_CUBLAS(cublasLtMatmulAlgoGetHeuristic, handle, what.get(), b.get(), a.get(), out.get(),
         out.get(), wish, 1, &best, &count);
  TORCH_CHECK(count > 0, "@PACKAGE@: cuBLASLt has no kernel for a product");
  const Tensor workspace =
      at::empty({static_cast<int64_t>(product_workspace)}, c.like().options().dtype(at::kByte));
  const float alpha = float_of(p.alpha), beta = float_of(p.beta);
  void* const to = c.pointer(p.out.buffer);
  CALL_CUBLAS(cublasLtMatmul, handle, what.get(), &alpha, c.pointer(p.b.buffer), b.get(),
         c.pointer(p.a.buffer), a.get(), &beta, to, out.get(), to, out.get(), &best.algo,
         workspace.mutable_data_ptr(), product_workspace, c.stream());
}
)op";

}  // namespace warpsmith::commands
