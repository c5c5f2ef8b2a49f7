// SPDX-License-Identifier: Apache-2.0
// Compares library steps by plain loops with figures worked out by hand, and the binary interfaces
// of NVIDIA's libraries with their headers, where those are installed.
#include "tests/sandbox/support/software_device/software_library.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "sandbox/launch/library_abi.hpp"
#include "tests/sandbox/support/software_device/element.hpp"

#if __has_include(<cublasLt.h>) && __has_include(<cudnn.h>) && __has_include(<cuda_runtime_api.h>)
#define WARPSMITH_HAS_LIBRARY_HEADERS 1
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudnn.h>
#endif

namespace warpsmith::sandbox {
namespace {

using testing::bfloat_bits;
using testing::BufferBases;
using testing::half_bits;
using testing::load_element;
using testing::software_conv;
using testing::software_gemm;

/// Tensors of float32, and a plan's view of them.
struct Floats {
  std::vector<std::vector<float>> values;
  std::vector<BoundBuffer> buffers;

  uint32_t add(std::vector<int64_t> shape, std::vector<float> content) {
    BoundBuffer buffer{.dtype = Dtype::f32, .shape = std::move(shape), .scratch = true};
    buffer.bytes = content.size() * sizeof(float);
    buffers.push_back(std::move(buffer));
    values.push_back(std::move(content));
    return static_cast<uint32_t>(values.size() - 1);
  }
  BufferBases bases() {
    BufferBases all;
    for (auto& one : values) all.push_back(reinterpret_cast<std::byte*>(one.data()));
    return all;
  }
};

TEST(ElementTest, HalvesRoundToNearestEvenAndBack) {
  EXPECT_EQ(half_bits(1), 0x3C00);
  EXPECT_EQ(half_bits(-2), 0xC000);
  EXPECT_EQ(half_bits(1 + 0x1.0p-11), 0x3C00);
  EXPECT_EQ(half_bits(1 + 0x1.8p-10), 0x3C02);
  EXPECT_EQ(half_bits(65519), 0x7BFF);
  EXPECT_EQ(half_bits(65520), 0x7C00);
  EXPECT_EQ(half_bits(0x1.0p-24), 0x0001);
  EXPECT_EQ(half_bits(0x1.ff8p-15), 0x03FF);
  EXPECT_EQ(bfloat_bits(1), 0x3F80);
  EXPECT_EQ(bfloat_bits(1 + 0x1.0p-8), 0x3F80);
  EXPECT_EQ(bfloat_bits(1 + 0x1.8p-7), 0x3F82);
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    ASSERT_EQ(half_bits(load_element(Dtype::f16, reinterpret_cast<const std::byte*>(&half), 0)),
              half);
  }
}

TEST(SoftwareLibraryTest, ProductsFollowTransposesScalesAndEpilogues) {
  Floats all;
  const uint32_t a = all.add({2, 3}, {1, 2, 3, 4, 5, 6});
  const uint32_t b = all.add({2, 3}, {1, 0, -1, 2, 1, 0});
  const uint32_t out = all.add({2, 2}, {10, 10, 10, 10});
  const uint32_t bias = all.add({2}, {0.5, -100});
  BoundGemm gemm{.m = 2, .n = 2, .k = 3};
  gemm.a = {.buffer = a, .rows = 2, .columns = 3, .row = 3};
  gemm.b = {.buffer = b, .rows = 2, .columns = 3, .row = 3, .transposed = true};
  gemm.out = {.buffer = out, .rows = 2, .columns = 2, .row = 2};
  software_gemm(gemm, all.buffers, all.bases());
  EXPECT_EQ(all.values[out], (std::vector<float>{-2, 4, -2, 13}));
  gemm.alpha = 2;
  gemm.beta = 1;
  gemm.bias = bias;
  gemm.epilogue = Epilogue::bias_relu;
  software_gemm(gemm, all.buffers, all.bases());
  EXPECT_EQ(all.values[out], (std::vector<float>{0, 0, 0, 0}));
  gemm.beta = 0;
  gemm.epilogue = Epilogue::bias;
  software_gemm(gemm, all.buffers, all.bases());
  EXPECT_EQ(all.values[out], (std::vector<float>{-3.5, -92, -3.5, -74}));
}

TEST(SoftwareLibraryTest, ConvolutionsFollowGroupsPaddingStrideAndDilation) {
  Floats all;
  const uint32_t x = all.add({1, 2, 5}, {1, 2, 3, 4, 5, 10, 20, 30, 40, 50});
  const uint32_t w = all.add({2, 1, 2}, {1, -1, 1, 1});
  const uint32_t out = all.add({1, 2, 3}, std::vector<float>(6));
  BoundConv conv{.out = out, .x = x, .w = w, .groups = 2};
  conv.stride = {2};
  conv.padding = {1};
  conv.dilation = {2};
  software_conv(conv, all.buffers, all.bases());
  // The taps of output i read x[2i − 1] and x[2i + 1].
  EXPECT_EQ(all.values[out], (std::vector<float>{-2, -2, 4, 20, 60, 40}));
}

TEST(LibraryInterfaceTest, ConstantsAndRecordsEqualThoseOfTheHeaders) {
#ifdef WARPSMITH_HAS_LIBRARY_HEADERS
  EXPECT_EQ(int{cublas::op_none}, CUBLAS_OP_N);
  EXPECT_EQ(int{cublas::op_transpose}, CUBLAS_OP_T);
  EXPECT_EQ(int{cublas::compute_f32}, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(int{cublas::compute_tf32}, CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(int{cublas::data_f32}, CUDA_R_32F);
  EXPECT_EQ(int{cublas::data_f16}, CUDA_R_16F);
  EXPECT_EQ(int{cublas::data_bf16}, CUDA_R_16BF);
  EXPECT_EQ(cublas::default_algorithm, CUBLAS_GEMM_DEFAULT);
  EXPECT_EQ(int{cublas::matmul_transa}, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(int{cublas::matmul_transb}, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(int{cublas::matmul_epilogue}, CUBLASLT_MATMUL_DESC_EPILOGUE);
  EXPECT_EQ(int{cublas::matmul_bias_pointer}, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  EXPECT_EQ(int{cublas::layout_batch_count}, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  EXPECT_EQ(int{cublas::layout_batch_stride}, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  EXPECT_EQ(int{cublas::preference_workspace}, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(int{cublas::preference_alignment_a}, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  EXPECT_EQ(cublas::preference_alignment_a + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  EXPECT_EQ(int{cublas::epilogue_none}, CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(cublas::epilogue_bias | cublas::epilogue_relu, CUBLASLT_EPILOGUE_RELU_BIAS);
  EXPECT_EQ(cublas::epilogue_bias | cublas::epilogue_gelu, CUBLASLT_EPILOGUE_GELU_BIAS);
  EXPECT_EQ(sizeof(cublas::HeuristicResult), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(cublas::HeuristicResult, state),
            offsetof(cublasLtMatmulHeuristicResult_t, state));
  EXPECT_EQ(int{cudnn::data_f32}, CUDNN_DATA_FLOAT);
  EXPECT_EQ(int{cudnn::data_f16}, CUDNN_DATA_HALF);
  EXPECT_EQ(int{cudnn::data_bf16}, CUDNN_DATA_BFLOAT16);
  EXPECT_EQ(int{cudnn::format_nchw}, CUDNN_TENSOR_NCHW);
  EXPECT_EQ(int{cudnn::cross_correlation}, CUDNN_CROSS_CORRELATION);
  EXPECT_EQ(int{cudnn::math_tensor}, CUDNN_TENSOR_OP_MATH);
  EXPECT_EQ(int{cudnn::math_fma}, CUDNN_FMA_MATH);
  EXPECT_EQ(cudnn::forward_algorithms, CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
  EXPECT_EQ(sizeof(cudnn::AlgorithmPerformance), sizeof(cudnnConvolutionFwdAlgoPerf_t));
  EXPECT_EQ(offsetof(cudnn::AlgorithmPerformance, math),
            offsetof(cudnnConvolutionFwdAlgoPerf_t, mathType));
#else
  GTEST_SKIP() << "no headers of cuBLASLt and cuDNN on this machine";
#endif
}

}  // namespace
}  // namespace warpsmith::sandbox
