// SPDX-License-Identifier: Apache-2.0
// The export of contract `device`, with every kind of step: its texts, its build without a GPU, and
// its own test on one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commands/optimize/export_package.hpp"
#include "runtime/cuda/context.hpp"
#include "runtime/environment.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/plan/plan_reader.hpp"
#include "tests/commands/optimize/export_fixture.hpp"

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;
using testing::Not;

const char* const reference = R"py(
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(96, 32) / 10)
        self.b = nn.Parameter(torch.randn(32))

    def forward(self, x):
        product = x @ self.w
        return torch.relu(product + self.b), product, 2 * x


def get_inputs():
    return [torch.randn(64, 96)]


def get_init_inputs():
    return []
)py";

// `count` adds nothing as long as its variable has its initial value and its arguments arrive.
const char* const kernels = R"cu(
struct alignas(64) TensorMap {
  char bytes[128];
};

__device__ int calls = 0;

extern "C" __global__ void boxes(const __grid_constant__ TensorMap map, float* y, int rows,
                                 int columns) {
  __shared__ alignas(128) float box[8 * 32];
  __shared__ alignas(8) unsigned long long ready;
  const int column = blockIdx.x * 32, row = blockIdx.y * 8;
  const unsigned to = (unsigned)__cvta_generic_to_shared(box);
  const unsigned bar = (unsigned)__cvta_generic_to_shared(&ready);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(bar));
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(&map), "r"(column), "r"(row), "r"(bar)
                 : "memory");
  }
  __syncthreads();
  for (unsigned done = 0; done == 0;) {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
                 "selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(bar) : "memory");
  }
  for (int i = threadIdx.x; i < 8 * 32; i += blockDim.x) {
    y[(row + i / 32) * columns + column + i % 32] = 2 * box[i];
  }
}

extern "C" __global__ void count(float* y, float half, double quarter, long long wide, int narrow) {
  extern __shared__ float held[];
  held[threadIdx.x] = threadIdx.x == 0 ? half - 2 * (float)quarter : 0;
  __syncthreads();
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  y[0] += held[0] + (float)(wide + 5) + (float)(narrow - 64) + (float)calls;
  calls += INFINITY > 0 ? 1 : 0;  // INFINITY: a name that NVRTC does not know by itself
}
)cu";

const char* const plan_text = R"toml(
[scratch.small]
dtype = "f32"
shape = [3]

[scratch.doubled]
dtype = "f32"
shape = ["d0", "d1"]

[[step]]
memset = "doubled"
value = 255

[[step]]
launch = "boxes"
grid = ["d1 / 32", "d0 / 8"]
block = [128]
cooperative = true
args = [{tensor_map = "x", shape = ["d1", "d0"], strides = ["4 * d1"], box = [32, 8]}, "doubled", "d0", "d1"]

[[step]]
copy = "out2"
from = "doubled"

[[step]]
launch = "count"
grid = [2]
block = [32]
cluster = [2]
shared = 65536
args = ["out2", {f32 = 0.5}, {f64 = 0.25}, -5, {i32 = "d0"}]

[[step]]
gemm = "out1"
a = "x"
b = "w"
m = "d0"
n = "d2"
k = "d1"

[[step]]
gemm = "out0"
a = "x"
b = "w"
m = "d0"
n = "d2"
k = "d1"
epilogue = "bias_relu"
bias = "b"
)toml";

TaskSignature signature() {
  TaskSignature all;
  all.tensors = {{"x", TensorRole::input, Dtype::f32, {64, 96}, {"d0", "d1"}},
                 {"w", TensorRole::parameter, Dtype::f32, {96, 32}, {"d1", "d2"}},
                 {"b", TensorRole::parameter, Dtype::f32, {32}, {"d2"}},
                 {"out0", TensorRole::output, Dtype::f32, {64, 32}, {"d0", "d2"}},
                 {"out1", TensorRole::output, Dtype::f32, {64, 32}, {"d0", "d2"}},
                 {"out2", TensorRole::output, Dtype::f32, {64, 96}, {"d0", "d1"}}};
  all.dim_names = {"d0", "d1", "d2"};
  all.dims = {64, 96, 32};
  return all;
}

sandbox::BoundPlan bound(const std::string& text, const TaskSignature& over) {
  const auto plan = sandbox::read_plan(text);
  if (!plan) throw std::runtime_error(plan.error().message);
  auto made = sandbox::bind_plan(*plan, over, {});
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(*made);
}

ExportedKernel exported() {
  ExportedKernel kernel;
  kernel.form = ExportForm::plan;
  kernel.name = "warpsmith_steps";
  kernel.task.device = DeviceClass::cuda;
  kernel.task.code = reference;
  kernel.files = {{"kernels.cu", kernels}, {"plan.toml", plan_text}};
  kernel.shapes = {{"get_inputs", signature(), 0.5}};
  kernel.plans = {bound(plan_text, signature())};
  kernel.build = sandbox::contract_named("device").library_build();
  return kernel;
}

TEST(DeviceExport, TheOpHoldsEveryStepInOrder) {
  const FileSet files = export_package(exported());
  const std::string& op = files.at("warpsmith_steps/csrc/op.cpp");
  size_t at = op.find("void steps_0(Call& c)");
  for (const char* step :
       {"c.scratch({24576, 256})", "c.reset()", "c.fill(6, 255, 24576)",
        "c.launch({\"boxes\", {3, 8, 1}, {128, 1, 1}, {0, 0, 0}, 0, true}",
        "c.tensor_map(0, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, {96, 64}, {384}, {32, 8}",
        "c.copy(5, 6, 24576)",
        "c.launch({\"count\", {2, 1, 1}, {32, 1, 1}, {2, 1, 1}, 65536, false}", "multiply(c, {{4,",
        "CUBLASLT_EPILOGUE_RELU_BIAS, c.at(2)"}) {
    at = op.find(step, at);
    ASSERT_NE(at, std::string::npos) << step;
  }
  EXPECT_THAT(op, HasSubstr("TORCH_LIBRARY_IMPL(warpsmith_steps, CUDA, library)"));
  EXPECT_THAT(files.at("warpsmith_steps/signature.json"), HasSubstr("\"device\": \"cuda\""));
  for (const auto& [name, text] : files) {
    EXPECT_THAT(text, Not(HasSubstr("@PACKAGE@"))) << name;
    EXPECT_THAT(text, Not(HasSubstr("@NEEDS@"))) << name;
  }
}

TEST(DeviceExport, AConvolutionIsRefusedWithItsLine) {
  TaskSignature images;
  images.tensors = {
      {"x", TensorRole::input, Dtype::f32, {1, 2, 8, 8}, {"d0", "d1", "d2", "d2"}},
      {"w", TensorRole::parameter, Dtype::f32, {4, 2, 3, 3}, {"d3", "d1", "d4", "d4"}},
      {"y", TensorRole::output, Dtype::f32, {1, 4, 6, 6}, {"d0", "d3", "d5", "d5"}}};
  images.dim_names = {"d0", "d1", "d2", "d3", "d4", "d5"};
  images.dims = {1, 2, 8, 4, 3, 6};
  const auto why = unexportable(bound("[[step]]\nconv = \"y\"\nx = \"x\"\nw = \"w\"\n", images));
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("plan.toml:1: a `conv` step is not exported"));
  EXPECT_FALSE(unexportable(exported().plans[0]));
}

class DeviceExportBuild : public ExportFixture {
 protected:
  void SetUp() override {
    ExportFixture::SetUp();
    if (IsSkipped()) return;
    const auto toolchain =
        sandbox::find_cuda_toolchain(sandbox::built_with_toolkit(), python_interpreter());
    if (!toolchain) GTEST_SKIP() << toolchain.error().message;
    write(exported());
  }
};

TEST_F(DeviceExportBuild, ItCompilesWithoutAGpuAndKnowsItsShapes) {
  ::setenv("TORCH_CUDA_ARCH_LIST", "9.0a", 1);
  const ChildExit end = python({"-c", R"py(
import torch, warpsmith_steps as package
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode():
    out = package.solve(torch.empty(64, 96), torch.empty(96, 32), torch.empty(32))
print([list(t.shape) for t in out])
try:
    package.shape_of([torch.zeros(1)])
except ValueError as error:
    print(error)
text = next(package.build._here.glob("_build/*/kernels.h")).read_text()
print(text.splitlines()[1])
)py"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("[[64, 32], [64, 32], [64, 96]]"));
  EXPECT_THAT(end.out, HasSubstr("warpsmith_steps: sizes [[1]] were not judged"));
  EXPECT_THAT(end.out, HasSubstr("#define KERNELS_VARIABLES \"calls\""));
}

TEST_F(DeviceExportBuild, ItsOwnTestPassesOnAGpu) {
  const auto context = cuda::Context::open(0);
  if (!context) GTEST_SKIP() << context.error().message;
  const ChildExit end = python({"test_regression.py", "--time"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("passed: get_inputs"));
  EXPECT_THAT(end.out, HasSubstr("\"change_percent\""));
}

}  // namespace
}  // namespace warpsmith::commands
