// SPDX-License-Identifier: Apache-2.0
// The export of contract `host`: a module with an extension, on the CPU, and with CUDA kernels on a
// GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/context.hpp"
#include "runtime/environment.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/contract/contract.hpp"
#include "tests/commands/optimize/export_fixture.hpp"

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;
using testing::Not;

// The parameter has the name of an input, the batch norm's statistics decide nothing in training,
// and `factor` is no tensor.
const char* const reference = R"py(
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, columns, alpha):
        super().__init__()
        self.alpha = alpha
        self.x = nn.Parameter(torch.rand(columns))
        self.norm = nn.BatchNorm1d(columns)

    def forward(self, x, factor):
        return self.norm(x) * self.x * factor + self.alpha, x

def get_inputs():
    return [torch.randn(6, 8), 3.0]

def get_init_inputs():
    return [[8], {"alpha": 0.5}]
)py";

const char* const model_new = R"py(
import cuda_extension
import torch
import torch.nn as nn

from helper import NORM
from reference import Model

class ModelNew(nn.Module):
    def __init__(self, columns, alpha):
        super().__init__()
        self.alpha = alpha
        self.x = nn.Parameter(torch.zeros(columns))
        self.norm = NORM(columns)

    def forward(self, x, factor):
        import helper  # also found at the first call
        normed = torch.nn.functional.batch_norm(x, None, None, self.norm.weight, self.norm.bias, True)
        return cuda_extension.scaled(normed, self.x, factor, self.alpha), x
)py";

const char* const binding = R"cpp(
#include <torch/csrc/utils/pybind.h>
#include <torch/types.h>
#include "../binding_registry.h"
  static torch::Tensor scaled(torch::Tensor x, torch::Tensor by, double factor, double alpha) {
    return x * by * factor + alpha;
  }
  REGISTER_BINDING(scaled, [](pybind11::module& m) { m.def("scaled", &scaled); })
)cpp";

// The same for a module that calls only `shift`, without torch's headers, which compile slowly.
const char* const shift_binding = R"cpp(
#include "../binding_registry.h"
  REGISTER_BINDING(shift, [](pybind11::module& m) { m.def("shift", [](double a) { return a; }); })
)cpp";

const char* const gpu_binding = R"cpp(
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/types.h>
#include "../binding_registry.h"
  extern "C" void scale(const float*, const float*, float*, long, long, float, float, cudaStream_t);
  static torch::Tensor scaled(torch::Tensor x, torch::Tensor by, double factor, double alpha) {
    auto y = torch::empty_like(x);
    scale(x.data_ptr<float>(), by.data_ptr<float>(), y.data_ptr<float>(), x.numel(), x.size(1),
          factor, alpha, c10::cuda::getCurrentCUDAStream());
    return y;
  }
  REGISTER_BINDING(scaled, [](pybind11::module& m) { m.def("scaled", &scaled); })
)cpp";

const char* const gpu_kernel = R"cu(
#include <cuda_runtime.h>
__global__ void scale_kernel(const float* x, const float* by, float* y, long n, long columns, float f,
                             float a) {
  const long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * by[i % columns] * f + a;
}
extern "C" void scale(const float* x, const float* by, float* y, long n, long columns, float f, float a,
                      cudaStream_t stream) {
  scale_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, by, y, n, columns, f, a);
}
)cu";

ExportedKernel exported(const std::string& name) {
  ExportedKernel kernel;
  kernel.form = ExportForm::module;
  kernel.name = "warpsmith_" + name;
  kernel.task.code = reference;
  kernel.files = {{"model_new.py", model_new},
                  {"helper.py", "import torch.nn as nn\nNORM = nn.BatchNorm1d\n"},
                  {"kernels/scaled_binding.cpp", binding}};
  TaskSignature signature;
  signature.tensors = {{"x", TensorRole::input, Dtype::f32, {6, 8}, {}},
                       {"x_2", TensorRole::parameter, Dtype::f32, {8}, {}},
                       {"norm.weight", TensorRole::parameter, Dtype::f32, {8}, {}},
                       {"norm.bias", TensorRole::parameter, Dtype::f32, {8}, {}},
                       {"y0", TensorRole::output, Dtype::f32, {6, 8}, {}},
                       {"y1", TensorRole::output, Dtype::f32, {6, 8}, {}}};
  kernel.shapes = {{"get_inputs", signature, 0.5}};
  kernel.build = sandbox::contract_named("host").library_build();
  return kernel;
}

/// A right module; its only compiled function returns its argument.
ExportedKernel exported_with_shift(const std::string& name) {
  ExportedKernel kernel = exported(name);
  std::string& text = kernel.files["model_new.py"];
  const std::string call = "cuda_extension.scaled(normed, self.x, factor, self.alpha)";
  text.replace(text.find(call), call.size(),
               "normed * self.x * factor + cuda_extension.shift(self.alpha)");
  kernel.files["kernels/scaled_binding.cpp"] = shift_binding;
  return kernel;
}

ExportedKernel exported_for_gpu() {
  ExportedKernel kernel = exported("on_gpu");
  kernel.task.device = DeviceClass::cuda;
  kernel.files["kernels/scaled_binding.cpp"] = gpu_binding;
  kernel.files["kernels/scale.cu"] = gpu_kernel;
  return kernel;
}

class ModuleExport : public ExportFixture {};

TEST_F(ModuleExport, ItsOwnTestPassesAndTimesIt) {
  write(exported("scaled"));
  const ChildExit end = python({"test_regression.py", "--time"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("passed: get_inputs"));
  EXPECT_THAT(end.out, HasSubstr("\"change_percent\""));
}

TEST_F(ModuleExport, AWrongModuleFailsItsTest) {
  ExportedKernel kernel = exported("wrong");
  std::string& text = kernel.files["model_new.py"];
  const std::string call = "cuda_extension.scaled(normed, self.x, factor, self.alpha)";
  text.replace(text.find(call), call.size(), "normed * self.x * factor");
  text.erase(text.find("import cuda_extension\n"), 22);
  kernel.files.erase("kernels/scaled_binding.cpp");
  write(kernel);
  const ChildExit end = python({"test_regression.py"});
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_THAT(end.err, HasSubstr("get_inputs, y0: the largest error is"));
}

TEST_F(ModuleExport, TwoOfThemKeepToTheirOwnModules) {
  write(exported_with_shift("one"));
  ExportedKernel other = exported_with_shift("other");
  std::string& source = other.files["kernels/scaled_binding.cpp"];
  source.replace(source.find("return a"), 8, "return -a");
  write(other);
  const ChildExit end = python({"-c", R"py(
import sys, torch
import warpsmith_one as one, warpsmith_other as other
given = [torch.randn(6, 8), torch.rand(8), torch.ones(8), torch.zeros(8)]
first, second, again = one.solve(*given), other.solve(*given), torch.compile(one.solve)(*given)
print("apart", round((first[0] - second[0]).mean().item(), 3), torch.equal(first[0], again[0]))
print("own", first[1].data_ptr() != given[0].data_ptr(), "model_new" in sys.modules)
for call in (lambda: one.solve(given[0].double(), *given[1:]), lambda: one.solve(given[0][:2], *given[1:])):
    try:
        call()
    except ValueError as error:
        print(error)
given[1].requires_grad_()
outs = one.solve(*given)
for call in (outs[0].sum().backward, lambda: one.solve_out(*given, *[torch.empty(6, 8) for _ in outs])):
    try:
        call()
    except RuntimeError as error:
        print(error)
)py"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("apart 1.0 True"));
  EXPECT_THAT(end.out, HasSubstr("own True False"));
  EXPECT_THAT(end.out, HasSubstr("warpsmith_one: expected torch.float32, got torch.float64"));
  EXPECT_THAT(end.out, HasSubstr("warpsmith_one: sizes [[2, 8], [8], [8], [8]] were not judged"));
  EXPECT_THAT(end.out, HasSubstr("warpsmith_one: solve has no gradient"));
  EXPECT_THAT(end.out, HasSubstr("warpsmith_one: solve_out has no gradient"));
}

TEST_F(ModuleExport, KernelsCompileWithoutAGpu) {
  const auto toolchain =
      sandbox::find_cuda_toolchain(sandbox::built_with_toolkit(), python_interpreter());
  if (!toolchain) GTEST_SKIP() << toolchain.error().message;
  ::setenv("TORCH_CUDA_ARCH_LIST", "9.0a", 1);
  ::setenv("CUDA_HOME", sandbox::built_with_toolkit().c_str(), 1);
  ExportedKernel kernel = exported_for_gpu();
  kernel.files["kernels/scaled_binding.cpp"] = shift_binding;  // the CPU's torch has no CUDA parts
  write(kernel);
  const ChildExit end = python({"-m", "warpsmith_on_gpu.build"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("op.so"));
}

TEST_F(ModuleExport, ItsOwnTestPassesOnAGpu) {
  const auto context = cuda::Context::open(0);
  if (!context) GTEST_SKIP() << context.error().message;
  write(exported_for_gpu());
  const ChildExit end = python({"test_regression.py", "--time"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("passed: get_inputs"));
  EXPECT_THAT(end.out, HasSubstr("\"change_percent\""));
}

}  // namespace
}  // namespace warpsmith::commands
