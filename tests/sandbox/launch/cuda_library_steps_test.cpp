// SPDX-License-Identifier: Apache-2.0
// `gemm` and `conv` steps on a GPU, compared with the same steps by plain loops.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "runtime/random_stream.hpp"
#include "tests/sandbox/launch/gpu_candidate.hpp"
#include "tests/sandbox/support/software_device/element.hpp"
#include "tests/sandbox/support/software_device/software_library.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::BufferBases;
using testing::GpuCandidate;
using testing::in_seconds;
using testing::load_element;
using testing::signature_of;
using testing::software_conv;
using testing::software_gemm;
using testing::store_element;
using testing::tensor;

class CudaLibraryStepsTest : public testing::OnGpu {};

/// Elements in [−1, 1) in the tensor's type.
std::vector<std::byte> drawn(const BoundBuffer& buffer, uint64_t index) {
  RandomStream random(11, buffer.name, index);
  std::vector<std::byte> bytes(buffer.bytes);
  const auto count = static_cast<int64_t>(buffer.bytes / element_bytes(buffer.dtype));
  for (int64_t i = 0; i < count; ++i) {
    store_element(buffer.dtype, bytes.data(), i, 2 * random.uniform() - 1);
  }
  return bytes;
}

/// The largest difference between a plan's outputs and those of the loops, over both sets.
double worst_difference(const TaskSignature& signature, const std::string& text,
                        const PlanLimits& limits = {}) {
  GpuCandidate candidate(signature, text, "", limits);
  const CallResult loaded = candidate.contestant().load(in_seconds(60));
  if (loaded.fault) throw std::runtime_error(loaded.fault->detail);
  const auto& buffers = candidate.plan().buffers;
  double worst = 0;
  for (uint32_t set = 0; set < 2; ++set) {
    std::vector<std::vector<std::byte>> contents;
    BufferBases bases;
    for (size_t i = 0; i < buffers.size(); ++i) {
      contents.push_back(drawn(buffers[i], set));
      candidate.put(i, contents.back(), set);
    }
    for (auto& content : contents) bases.push_back(content.data());
    const CallResult result = candidate.contestant().call(set, in_seconds(20));
    if (result.fault) throw std::runtime_error(result.fault->detail);
    for (const BoundStep& step : candidate.plan().steps) {
      if (const auto* gemm = std::get_if<BoundGemm>(&step.what)) {
        software_gemm(*gemm, buffers, bases);
      } else {
        software_conv(std::get<BoundConv>(step.what), buffers, bases);
      }
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (!buffers[i].writable()) continue;
      const auto out = candidate.get<std::byte>(i, set);
      const auto count = static_cast<int64_t>(out.size() / element_bytes(buffers[i].dtype));
      for (int64_t at = 0; at < count; ++at) {
        const double difference = std::abs(load_element(buffers[i].dtype, out.data(), at) -
                                           load_element(buffers[i].dtype, bases[i], at));
        worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
      }
    }
  }
  return worst;
}

TaskSignature products(Dtype in, Dtype out, int64_t batch = 1) {
  return signature_of({tensor("x", TensorRole::input, {batch, 96, 72}, in),
                       tensor("w", TensorRole::parameter, {batch, 40, 72}, in),
                       tensor("bias", TensorRole::parameter, {40}, out),
                       tensor("out", TensorRole::output, {batch, 96, 40}, out)},
                      {batch, 96, 72, 40});
}

std::string gemm(const std::string& rest = "") {
  return "[[step]]\ngemm = \"out\"\na = \"x\"\nb = \"w\"\ntrans_b = true\nm = \"d1\"\nn = "
         "\"d3\"\nk = \"d2\"\n" +
         rest;
}

// A sum of 72 products of numbers below 1 stays below 2^6, so float32 is within 72 ulp of 2^-18.
constexpr double f32_room = 1e-4, f16_room = 0.02, bf16_room = 0.15;

TEST_F(CudaLibraryStepsTest, ProductsAgreeWithPlainLoops) {
  const TaskSignature plain = products(Dtype::f32, Dtype::f32);
  EXPECT_LT(worst_difference(plain, gemm()), f32_room);
  EXPECT_LT(worst_difference(plain, gemm("alpha = 0.5\n")), f32_room);
  EXPECT_LT(worst_difference(plain, gemm() + gemm("beta = 0.25\n")), f32_room);
  const TaskSignature turned = signature_of(
      {tensor("x", TensorRole::input, {72, 96}), tensor("w", TensorRole::parameter, {72, 48}),
       tensor("out", TensorRole::output, {96, 40})},
      {96, 72, 40});
  EXPECT_LT(
      worst_difference(turned,
                       "[[step]]\ngemm = \"out\"\na = \"x\"\nb = \"w\"\ntrans_a = true\nrow_b "
                       "= 48\nm = \"d0\"\nn = \"d2\"\nk = \"d1\"\n"),
      f32_room);
  for (const char* epilogue : {"relu", "gelu"}) {
    EXPECT_LT(worst_difference(plain, gemm("epilogue = \"" + std::string(epilogue) + "\"\n")),
              f32_room)
        << epilogue;
  }
  for (const char* epilogue : {"bias", "bias_relu", "bias_gelu"}) {
    EXPECT_LT(worst_difference(
                  plain, gemm("bias = \"bias\"\nepilogue = \"" + std::string(epilogue) + "\"\n")),
              f32_room)
        << epilogue;
  }
}

TEST_F(CudaLibraryStepsTest, ProductsOfHalvesAndBatchesAgreeWithPlainLoops) {
  EXPECT_LT(worst_difference(products(Dtype::f32, Dtype::f32, 3), gemm("batch = \"d0\"\n")),
            f32_room);
  EXPECT_LT(worst_difference(products(Dtype::f32, Dtype::f32, 3),
                             gemm("batch = \"d0\"\nepilogue = \"relu\"\n")),
            f32_room);
  EXPECT_LT(worst_difference(products(Dtype::f16, Dtype::f16), gemm()), f16_room);
  EXPECT_LT(worst_difference(products(Dtype::f16, Dtype::f32), gemm()), f32_room);
  EXPECT_LT(worst_difference(products(Dtype::bf16, Dtype::bf16), gemm()), bf16_room);
  EXPECT_LT(worst_difference(products(Dtype::bf16, Dtype::bf16),
                             gemm("bias = \"bias\"\nepilogue = \"bias_relu\"\n")),
            bf16_room);
}

TEST_F(CudaLibraryStepsTest, UsesTf32OnlyInALaneThatAllowsIt) {
  const TaskSignature large = signature_of({tensor("x", TensorRole::input, {1, 512, 512}),
                                            tensor("w", TensorRole::parameter, {1, 512, 512}),
                                            tensor("bias", TensorRole::parameter, {512}),
                                            tensor("out", TensorRole::output, {1, 512, 512})},
                                           {1, 512, 512, 512});
  const double strict = worst_difference(large, gemm());
  const double strict_bias =
      worst_difference(large, gemm("bias = \"bias\"\nepilogue = \"bias\"\n"));
  const double tf32 =
      worst_difference(large, gemm("compute = \"tf32\"\n"), {.lane = PrecisionLane::tf32_allowed});
  std::cout << "  worst difference: f32 " << strict << ", f32 with bias " << strict_bias
            << ", tf32 " << tf32 << '\n';
  EXPECT_LT(strict, 1e-4);
  EXPECT_LT(strict_bias, 1e-4);
  EXPECT_GT(tf32, 1e-3);
  EXPECT_LT(tf32, 0.1);
}

std::string conv(const std::string& rest) {
  return "[[step]]\nconv = \"out\"\nx = \"x\"\nw = \"w\"\n" + rest;
}

TaskSignature images(std::vector<int64_t> x, std::vector<int64_t> w, std::vector<int64_t> out,
                     Dtype dtype = Dtype::f32) {
  return signature_of({tensor("x", TensorRole::input, std::move(x), dtype),
                       tensor("w", TensorRole::parameter, std::move(w), dtype),
                       tensor("out", TensorRole::output, std::move(out), dtype)},
                      {1});
}

TEST_F(CudaLibraryStepsTest, ConvolvesInTf32OnlyInALaneThatAllowsIt) {
  const TaskSignature deep = images({1, 64, 12, 12}, {64, 64, 3, 3}, {1, 64, 10, 10});
  const double strict = worst_difference(deep, conv(""));
  const double tf32 =
      worst_difference(deep, conv("compute = \"tf32\"\n"), {.lane = PrecisionLane::tf32_allowed});
  std::cout << "  worst difference: f32 " << strict << ", tf32 " << tf32 << '\n';
  EXPECT_LT(strict, 5e-4);
  EXPECT_GT(tf32, 1e-3);
  EXPECT_LT(tf32, 0.1);
}

TEST_F(CudaLibraryStepsTest, ConvolutionsAgreeWithPlainLoops) {
  EXPECT_LT(worst_difference(images({2, 6, 50}, {8, 3, 5}, {2, 8, 23}),
                             conv("groups = 2\nstride = [2]\n")),
            f32_room);
  EXPECT_LT(worst_difference(images({2, 16, 20, 18}, {8, 16, 3, 3}, {2, 8, 20, 18}),
                             conv("padding = [1, 1]\n")),
            f32_room * 4);
  EXPECT_LT(worst_difference(images({1, 4, 17, 15}, {4, 1, 3, 3}, {1, 4, 15, 13}),
                             conv("groups = 4\npadding = [1, 1]\ndilation = [2, 2]\n")),
            f32_room);
  EXPECT_LT(worst_difference(images({1, 3, 8, 9, 10}, {4, 3, 3, 3, 3}, {1, 4, 6, 7, 8}), conv("")),
            f32_room * 4);
  EXPECT_LT(
      worst_difference(images({2, 8, 16, 16}, {8, 8, 3, 3}, {2, 8, 14, 14}, Dtype::f16), conv("")),
      f16_room * 2);
}

std::string repeated(const std::string& step, int count) {
  std::string steps;
  for (int i = 0; i < count; ++i) steps += step;
  return steps;
}

/// Bytes of device memory that loading the plan takes.
uint64_t taken_by_loading(const TaskSignature& signature, const std::string& text) {
  GpuCandidate candidate(signature, text);
  const auto free = [] { return testing::GpuHost::get().context->memory().free; };
  const uint64_t before = free();
  const CallResult loaded = candidate.contestant().load(in_seconds(60));
  if (loaded.fault) throw std::runtime_error(loaded.fault->detail);
  return before - std::min(before, free());
}

/// Each algorithm needs about 30 MB, because it first converts float16 images to another layout.
TEST_F(CudaLibraryStepsTest, ConvolutionsOfAPlanShareOneWorkspace) {
  const TaskSignature large =
      images({8, 64, 128, 128}, {64, 64, 3, 3}, {8, 64, 126, 126}, Dtype::f16);
  const uint64_t one = taken_by_loading(large, conv(""));
  const uint64_t many = taken_by_loading(large, repeated(conv(""), 24));
  std::cout << "  bytes: one step " << one << ", 24 steps " << many << '\n';
  EXPECT_LT(many, one + (64ULL << 20U));
}

TEST_F(CudaLibraryStepsTest, ConvolutionsOfSeveralSizesAgreeWithPlainLoops) {
  const TaskSignature two = signature_of({tensor("x", TensorRole::input, {2, 16, 20, 18}),
                                          tensor("w", TensorRole::parameter, {8, 16, 3, 3}),
                                          tensor("v", TensorRole::parameter, {8, 16, 1, 1}),
                                          tensor("out", TensorRole::output, {2, 8, 20, 18}),
                                          tensor("second", TensorRole::output, {2, 8, 20, 18})},
                                         {1});
  const std::string wide = conv("padding = [1, 1]\n");
  const std::string narrow = "[[step]]\nconv = \"second\"\nx = \"x\"\nw = \"v\"\n";
  EXPECT_LT(worst_difference(two, wide + narrow), f32_room * 4);
  EXPECT_LT(worst_difference(two, narrow + wide), f32_room * 4);
}

}  // namespace
}  // namespace warpsmith::sandbox
