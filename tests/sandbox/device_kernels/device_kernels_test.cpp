// SPDX-License-Identifier: Apache-2.0
// The solutions of this folder, and a wrong variant of each, for tasks with the sizes of the real
// benchmark: plans bind to the tasks' extents and match the compiled kernels. Needs no GPU.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>

#include "runtime/environment.hpp"
#include "runtime/run/durable_file.hpp"
#include "sandbox/contract/device/cuda_compiler.hpp"
#include "sandbox/contract/device/device_candidate.hpp"
#include "sandbox/reference/description.hpp"
#include "sandbox/workspace/solution.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using Shape = std::vector<int64_t>;
using Named = std::vector<std::pair<std::string, Shape>>;

const fs::path folder = "tests/sandbox/device_kernels";

/// A task's tensors, all f32 except targets.
struct Tensors {
  std::string task;
  Named inputs, parameters;
  Shape output;
};
/// Makes the test's output name the task.
std::ostream& operator<<(std::ostream& out, const Tensors& tensors) {
  return out << tensors.task;
}

const std::vector<Tensors> tasks{
    {"1_Conv2D_ReLU_BiasAdd",
     {{"x", {128, 64, 128, 128}}},
     {{"bias", {128, 1, 1}}, {"conv.weight", {128, 64, 3, 3}}, {"conv.bias", {128}}},
     {128, 128, 126, 126}},
    {"1_MLP",
     {{"x", {128, 16384}}},
     {{"network.0.weight", {16384, 16384}},
      {"network.0.bias", {16384}},
      {"network.2.weight", {16384, 16384}},
      {"network.2.bias", {16384}},
      {"network.4.weight", {8192, 16384}},
      {"network.4.bias", {8192}}},
     {128, 8192}},
    {"1_Square_matrix_multiplication_",
     {{"A", {4096, 4096}}, {"B", {4096, 4096}}},
     {},
     {4096, 4096}},
    {"8_Matmul_with_irregular_shapes_",
     {{"A", {8205, 2949}}, {"B", {2949, 5921}}},
     {},
     {8205, 5921}},
    {"12_Gemm_Multiply_LeakyReLU",
     {{"x", {1024, 8192}}},
     {{"gemm.weight", {8192, 8192}}, {"gemm.bias", {8192}}},
     {1024, 8192}},
    {"19_ReLU", {{"x", {4096, 393216}}}, {}, {4096, 393216}},
    {"23_Softmax", {{"x", {4096, 393216}}}, {}, {4096, 393216}},
    {"26_GELU_", {{"x", {4096, 393216}}}, {}, {4096, 393216}},
    {"36_RMSNorm_", {{"x", {112, 64, 512, 512}}}, {}, {112, 64, 512, 512}},
    {"37_Matmul_Swish_Sum_GroupNorm",
     {{"x", {32768, 1024}}},
     {{"bias", {4096}},
      {"matmul.weight", {4096, 1024}},
      {"matmul.bias", {4096}},
      {"group_norm.weight", {4096}},
      {"group_norm.bias", {4096}}},
     {32768, 4096}},
    {"40_LayerNorm",
     {{"x", {16, 64, 256, 256}}},
     {{"ln.weight", {64, 256, 256}}, {"ln.bias", {64, 256, 256}}},
     {16, 64, 256, 256}},
    {"47_Sum_reduction_over_a_dimension", {{"x", {128, 4096, 4095}}}, {}, {128, 1, 4095}},
    {"75_Gemm_GroupNorm_Min_BiasAdd",
     {{"x", {1024, 8192}}},
     {{"bias", {1, 8192, 1, 1}},
      {"gemm.weight", {8192, 8192}},
      {"gemm.bias", {8192}},
      {"group_norm.weight", {8192}},
      {"group_norm.bias", {8192}}},
     {1, 8192, 1024, 1}},
    {"82_conv_depthwise_2D_square_input_square_kernel",
     {{"x", {16, 64, 512, 512}}},
     {{"conv2d.weight", {64, 1, 3, 3}}},
     {16, 64, 510, 510}},
    {"89_cumsum", {{"x", {32768, 32768}}}, {}, {32768, 32768}},
    {"95_CrossEntropyLoss", {{"predictions", {32768, 4096}}, {"targets", {32768}}}, {}, {}},
    {"97_ScaledDotProductAttention",
     {{"Q", {32, 32, 512, 1024}}, {"K", {32, 32, 512, 1024}}, {"V", {32, 32, 512, 1024}}},
     {},
     {32, 32, 512, 1024}},
    {"99_Matmul_GELU_Softmax",
     {{"x", {1024, 8192}}},
     {{"linear.weight", {8192, 8192}}, {"linear.bias", {8192}}},
     {1024, 8192}}};

TaskSignature signature_of(const Tensors& task) {
  TaskSignature signature;
  const auto add = [&](const std::string& name, TensorRole role, const Shape& shape) {
    const Dtype dtype = name == "targets" ? Dtype::i64 : Dtype::f32;
    signature.tensors.push_back({.name = name, .role = role, .dtype = dtype, .shape = shape});
  };
  for (const auto& [name, shape] : task.inputs) add(name, TensorRole::input, shape);
  for (const auto& [name, shape] : task.parameters) add(name, TensorRole::parameter, shape);
  add("y", TensorRole::output, task.output);
  name_extents(signature);
  return signature;
}

FileSet files_of(const fs::path& place) {
  FileSet files;
  for (const char* name : {"kernels.cu", "plan.toml"}) {
    if (!fs::exists(place / name)) continue;
    auto text = read_text_file(place / name, 1U << 20U);
    if (!text) throw std::runtime_error(text.error().message);
    files[name] = std::move(*text);
  }
  return files;
}

class DeviceKernelsTest : public testing::TestWithParam<Tensors> {
 protected:
  static void SetUpTestSuite() {
    auto toolchain = find_cuda_toolchain(built_with_toolkit(), python_interpreter());
    if (!toolchain) return;
    cache = std::make_unique<test_support::TemporaryFolder>();
    auto opened = CudaCompiler::open(
        {{.program = WARPSMITH_SANDBOX_PROGRAM, .cache_dir = cache->path()}, *toolchain},
        Deadline::after(seconds{60}));
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    compiler = std::make_unique<CudaCompiler>(std::move(*opened));
  }
  static void TearDownTestSuite() {
    compiler.reset();
    cache.reset();
  }

  /// Why the solution cannot be launched; empty if it can.
  static std::string objection(const FileSet& files) {
    const auto plan = device_plan(files);
    if (!plan) return plan.error().text;
    Compiled compiled;
    if (launches_kernels(*plan)) {
      auto made = compiler->compile(files, Deadline::after(seconds{60}));
      if (!made) return made.error().message;
      if (made->failure) return made->text;
      compiled = std::move(*made);
    }
    const auto candidate = device_candidate(*plan, std::move(compiled), signature_of(GetParam()),
                                            PrecisionLane::fp32_strict);
    return candidate ? "" : candidate.error().text;
  }

  static std::unique_ptr<test_support::TemporaryFolder> cache;
  static std::unique_ptr<CudaCompiler> compiler;
};
std::unique_ptr<test_support::TemporaryFolder> DeviceKernelsTest::cache;
std::unique_ptr<CudaCompiler> DeviceKernelsTest::compiler;

TEST_P(DeviceKernelsTest, BindToTheTaskAndMatchWhatWasCompiled) {
  if (compiler == nullptr) GTEST_SKIP() << "no CUDA toolchain on this machine";
  const FileSet right = files_of(folder / GetParam().task);
  EXPECT_EQ(objection(right), "");
  const auto wrong = with_mistake(right, folder / GetParam().task / "wrong.json");
  ASSERT_TRUE(wrong) << wrong.error().message;
  EXPECT_NE(*wrong, right);
  EXPECT_EQ(objection(*wrong), "");
}

INSTANTIATE_TEST_SUITE_P(Sample, DeviceKernelsTest, testing::ValuesIn(tasks),
                         [](const auto& tested) { return tested.param.task; });

TEST(DeviceKernelsFolderTest, EverySolutionIsTested) {
  std::set<std::string> tested, found;
  for (const Tensors& task : tasks) tested.insert(task.task);
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) found.insert(entry.path().filename());
  }
  EXPECT_EQ(found, tested);
}

}  // namespace
}  // namespace warpsmith::sandbox
