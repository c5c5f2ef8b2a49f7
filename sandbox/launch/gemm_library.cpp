// SPDX-License-Identifier: Apache-2.0
// cuBLAS is column-major: it sees a row-major matrix as its transpose, so out = a · b is computed
// as outᵀ = bᵀ · aᵀ.
#include "sandbox/launch/library_abi.hpp"
#include "sandbox/launch/library_steps.hpp"

namespace warpsmith::sandbox {
namespace {

cublas::DataType data_type(Dtype dtype) {
  if (dtype == Dtype::f16) return cublas::data_f16;
  return dtype == Dtype::bf16 ? cublas::data_bf16 : cublas::data_f32;
}

cublas::Operation operation(const BoundMatrix& matrix) {
  return matrix.transposed ? cublas::op_transpose : cublas::op_none;
}

cublas::Compute compute_type(const BoundGemm& gemm, const std::vector<BoundBuffer>& buffers) {
  return uses_tf32(gemm, buffers) ? cublas::compute_tf32 : cublas::compute_f32;
}

int lt_epilogue(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::relu:
      return cublas::epilogue_relu;
    case Epilogue::gelu:
      return cublas::epilogue_gelu;
    case Epilogue::bias:
      return cublas::epilogue_bias;
    case Epilogue::bias_relu:
      return cublas::epilogue_bias | cublas::epilogue_relu;
    case Epilogue::bias_gelu:
      return cublas::epilogue_bias | cublas::epilogue_gelu;
    case Epilogue::none:
      break;
  }
  return cublas::epilogue_none;
}

struct Functions {
  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*set_stream)(void*, CUstream) = nullptr;
  int (*set_workspace)(void*, void*, size_t) = nullptr;
  int (*gemm)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int,
              int, const void*, void*, int, int, int, int) = nullptr;
  int (*batched)(void*, int, int, int, int, int, const void*, const void*, int, int, long long,
                 const void*, int, int, long long, const void*, void*, int, int, long long, int,
                 int, int) = nullptr;

  explicit Functions(const cuda::DynamicLibrary& library) {
    take(library, "cublasCreate_v2", create);
    take(library, "cublasDestroy_v2", destroy);
    take(library, "cublasSetStream_v2", set_stream);
    take(library, "cublasSetWorkspace_v2", set_workspace);
    take(library, "cublasGemmEx", gemm);
    take(library, "cublasGemmStridedBatchedEx", batched);
  }
};

struct LtFunctions {
  int (*matmul)(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                const void*, void*, void*, void*, const void*, void*, size_t, CUstream) = nullptr;
  int (*heuristic)(void*, void*, void*, void*, void*, void*, void*, int, cublas::HeuristicResult*,
                   int*) = nullptr;
  int (*create_matmul)(void**, int, int) = nullptr;
  int (*create_layout)(void**, int, uint64_t, uint64_t, int64_t) = nullptr;
  int (*create_preference)(void**) = nullptr;
  int (*destroy_matmul)(void*) = nullptr;
  int (*destroy_layout)(void*) = nullptr;
  int (*destroy_preference)(void*) = nullptr;
  int (*set_matmul)(void*, int, const void*, size_t) = nullptr;
  int (*set_layout)(void*, int, const void*, size_t) = nullptr;
  int (*set_preference)(void*, int, const void*, size_t) = nullptr;

  explicit LtFunctions(const cuda::DynamicLibrary& library) {
    take(library, "cublasLtMatmul", matmul);
    take(library, "cublasLtMatmulAlgoGetHeuristic", heuristic);
    take(library, "cublasLtMatmulDescCreate", create_matmul);
    take(library, "cublasLtMatrixLayoutCreate", create_layout);
    take(library, "cublasLtMatmulPreferenceCreate", create_preference);
    take(library, "cublasLtMatmulDescDestroy", destroy_matmul);
    take(library, "cublasLtMatrixLayoutDestroy", destroy_layout);
    take(library, "cublasLtMatmulPreferenceDestroy", destroy_preference);
    take(library, "cublasLtMatmulDescSetAttribute", set_matmul);
    take(library, "cublasLtMatrixLayoutSetAttribute", set_layout);
    take(library, "cublasLtMatmulPreferenceSetAttribute", set_preference);
  }
};

/// A product with an epilogue: its description for cuBLASLt and the algorithm chosen for it.
class LtProduct {
 public:
  LtProduct(const LtFunctions& lt, void* handle, const BoundGemm& gemm,
            const std::vector<BoundBuffer>& buffers)
      : lt_(lt),
        gemm_(gemm),
        matmul_(nullptr, lt.destroy_matmul),
        a_(layout_of(gemm.a, buffers)),
        b_(layout_of(gemm.b, buffers)),
        out_(layout_of(gemm.out, buffers)),
        alpha_(static_cast<float>(gemm.alpha)),
        beta_(static_cast<float>(gemm.beta)) {
    describe(compute_type(gemm, buffers));
    choose(handle);
  }

  void enqueue(void* handle, CUstream stream, CUdeviceptr workspace, const DeviceBases& bases) {
    if (gemm_.bias) {
      const CUdeviceptr bias = bases[*gemm_.bias];
      succeed(lt_.set_matmul(matmul_.get(), cublas::matmul_bias_pointer, &bias, sizeof bias),
              "cublasLtMatmulDescSetAttribute");
    }
    void* out = pointer_to(bases[gemm_.out.buffer]);
    succeed(
        lt_.matmul(handle, matmul_.get(), &alpha_, pointer_to(bases[gemm_.b.buffer]), b_.get(),
                   pointer_to(bases[gemm_.a.buffer]), a_.get(), &beta_, out, out_.get(), out,
                   out_.get(), &algorithm_, pointer_to(workspace), gemm_workspace_bytes, stream),
        "cublasLtMatmul");
  }

 private:
  LibraryObject layout_of(const BoundMatrix& matrix, const std::vector<BoundBuffer>& buffers) {
    void* made = nullptr;
    succeed(lt_.create_layout(&made, data_type(buffers[matrix.buffer].dtype),
                              static_cast<uint64_t>(matrix.columns),
                              static_cast<uint64_t>(matrix.rows), matrix.row),
            "cublasLtMatrixLayoutCreate");
    LibraryObject layout(made, lt_.destroy_layout);
    const auto count = static_cast<int32_t>(gemm_.batch);
    const auto set = [&](int attribute, const auto& value) {
      succeed(lt_.set_layout(made, attribute, &value, sizeof value),
              "cublasLtMatrixLayoutSetAttribute");
    };
    set(cublas::layout_batch_count, count);
    set(cublas::layout_batch_stride, matrix.stride);
    return layout;
  }

  void describe(cublas::Compute compute) {
    void* made = nullptr;
    succeed(lt_.create_matmul(&made, compute, cublas::data_f32), "cublasLtMatmulDescCreate");
    matmul_.reset(made);
    const auto set = [&](int attribute, int32_t value) {
      succeed(lt_.set_matmul(made, attribute, &value, sizeof value),
              "cublasLtMatmulDescSetAttribute");
    };
    set(cublas::matmul_transa, operation(gemm_.b));
    set(cublas::matmul_transb, operation(gemm_.a));
    set(cublas::matmul_epilogue, lt_epilogue(gemm_.epilogue));
  }

  /// Takes the first algorithm that cuBLASLt's heuristics name.
  void choose(void* handle) {
    void* made = nullptr;
    succeed(lt_.create_preference(&made), "cublasLtMatmulPreferenceCreate");
    const LibraryObject preference(made, lt_.destroy_preference);
    const uint64_t workspace = gemm_workspace_bytes;
    (void)lt_.set_preference(made, cublas::preference_workspace, &workspace, sizeof workspace);
    for (int i = 0; i < 4; ++i) {
      (void)lt_.set_preference(made, cublas::preference_alignment_a + i, &buffer_alignment,
                               sizeof buffer_alignment);
    }
    cublas::HeuristicResult best{};
    int count = 0;
    succeed(lt_.heuristic(handle, matmul_.get(), b_.get(), a_.get(), out_.get(), out_.get(), made,
                          1, &best, &count),
            "cublasLtMatmulAlgoGetHeuristic");
    if (count == 0) throw cuda::DeviceError("cuBLASLt has no kernel for this product", 0);
    algorithm_ = best.algorithm;
  }

  const LtFunctions& lt_;
  const BoundGemm& gemm_;
  LibraryObject matmul_, a_, b_, out_;
  cublas::Algorithm algorithm_{};
  float alpha_, beta_;
};

class Cublas final : public GemmLibrary {
 public:
  Cublas(const cuda::Context& context, const cuda::DynamicLibrary& library,
         const cuda::DynamicLibrary& lt)
      : cublas_(library),
        lt_(lt),
        handle_(nullptr, cublas_.destroy),
        workspace_(context.api(), gemm_workspace_bytes) {
    void* made = nullptr;
    succeed(cublas_.create(&made), "cublasCreate");
    handle_.reset(made);
  }

  Enqueue prepare(const BoundGemm& gemm, const std::vector<BoundBuffer>& buffers) override {
    if (gemm.epilogue == Epilogue::none) {
      return [this, &gemm, &buffers](CUstream stream, const DeviceBases& bases) {
        plain(gemm, buffers, stream, bases);
      };
    }
    const auto product = std::make_shared<LtProduct>(lt_, handle_.get(), gemm, buffers);
    return [this, product](CUstream stream, const DeviceBases& bases) {
      product->enqueue(handle_.get(), stream, workspace_.address(), bases);
    };
  }

 private:
  void plain(const BoundGemm& gemm, const std::vector<BoundBuffer>& buffers, CUstream stream,
             const DeviceBases& bases) const {
    void* handle = handle_.get();
    succeed(cublas_.set_stream(handle, stream), "cublasSetStream");
    // Setting the stream resets the workspace to the library's own, which a graph must not hold.
    succeed(cublas_.set_workspace(handle, pointer_to(workspace_.address()), gemm_workspace_bytes),
            "cublasSetWorkspace");
    const auto alpha = static_cast<float>(gemm.alpha), beta = static_cast<float>(gemm.beta);
    const int in = data_type(buffers[gemm.a.buffer].dtype);
    const int out = data_type(buffers[gemm.out.buffer].dtype);
    const auto narrow = [](int64_t value) { return static_cast<int>(value); };
    const int m = narrow(gemm.n), n = narrow(gemm.m), k = narrow(gemm.k);
    const void *first = pointer_to(bases[gemm.b.buffer]),
               *second = pointer_to(bases[gemm.a.buffer]);
    void* to = pointer_to(bases[gemm.out.buffer]);
    const int compute = compute_type(gemm, buffers);
    if (gemm.batch == 1) {
      return succeed(
          cublas_.gemm(handle, operation(gemm.b), operation(gemm.a), m, n, k, &alpha, first, in,
                       narrow(gemm.b.row), second, in, narrow(gemm.a.row), &beta, to, out,
                       narrow(gemm.out.row), compute, cublas::default_algorithm),
          "cublasGemmEx");
    }
    succeed(cublas_.batched(handle, operation(gemm.b), operation(gemm.a), m, n, k, &alpha, first,
                            in, narrow(gemm.b.row), gemm.b.stride, second, in, narrow(gemm.a.row),
                            gemm.a.stride, &beta, to, out, narrow(gemm.out.row), gemm.out.stride,
                            narrow(gemm.batch), compute, cublas::default_algorithm),
            "cublasGemmStridedBatchedEx");
  }

  Functions cublas_;
  LtFunctions lt_;
  LibraryObject handle_;
  cuda::DeviceMemory workspace_;
};

}  // namespace

Result<std::unique_ptr<GemmLibrary>> GemmLibrary::open(const cuda::Context& context) {
  // Load cuBLASLt first: cuBLAS depends on it and then finds it loaded.
  const auto lt = cuda::DynamicLibrary::open({"libcublasLt.so.13", "libcublasLt.so.12"});
  if (!lt) return fail("no cuBLASLt on this machine", lt.error());
  const auto cublas = cuda::DynamicLibrary::open({"libcublas.so.13", "libcublas.so.12"});
  if (!cublas) return fail("no cuBLAS on this machine", cublas.error());
  return std::make_unique<Cublas>(context, *cublas, *lt);
}

}  // namespace warpsmith::sandbox
