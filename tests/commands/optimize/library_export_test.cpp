// SPDX-License-Identifier: Apache-2.0
// The export of contract `cpu`: two of equal file names in one process, no gradient, and what a
// failed build says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/contract/contract.hpp"
#include "tests/commands/optimize/export_fixture.hpp"

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;
using testing::Not;

/// `y = FACTOR * x` for an operator that a file op.py defines.
ExportedKernel exported(const std::string& factor) {
  ExportedKernel kernel;
  kernel.task.id = "op";
  kernel.task.code = R"py(
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return )py" + factor +
                     R"py( * x

def get_inputs():
    return [torch.randn(4, 8)]

def get_init_inputs():
    return []
)py";
  kernel.files["kernel.cpp"] =
      R"cpp(#include "warpsmith.h"
            extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
              for (int64_t i = 0; i < dims[0] * dims[1]; ++i) ((float*)out[0])[i] =)cpp" +
      factor + " * ((const float*)in[0])[i];\n}\n";
  TaskSignature signature;
  signature.tensors = {{"x", TensorRole::input, Dtype::f32, {4, 8}, {}},
                       {"y0", TensorRole::output, Dtype::f32, {4, 8}, {}}};
  kernel.shapes = {{"get_inputs", signature, 0.5}};
  kernel.build = sandbox::contract_named("cpu").library_build();
  return kernel;
}

std::string name_of(const ExportedKernel& kernel) {
  return default_package_name(kernel.task, kernel.files);
}

class LibraryExport : public ExportFixture {};

TEST_F(LibraryExport, TwoOfEqualFileNamesAreRightInOneProcess) {
  const ExportedKernel twice = exported("2"), thrice = exported("3");
  write(twice);
  write(thrice);
  const ChildExit end =
      python({"-c", "import torch, " + name_of(twice) + " as a, " + name_of(thrice) + R"py( as b
x = torch.randn(4, 8)
print("right", torch.equal(a.solve(x), 2 * x), torch.equal(b.solve(x), 3 * x))
)py"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("right True True"));
}

TEST_F(LibraryExport, AMachineWithoutAGpuIsNoNews) {
  const ExportedKernel kernel = exported("2");
  write(kernel);
  const ChildExit end = python({"-c", "import os\nos.environ['CUDA_HOME'] = '/nowhere'\nimport " +
                                          name_of(kernel) + "\nprint('imported')"});
  EXPECT_EQ(end.out, "imported\n") << end.err;
  EXPECT_THAT(end.err, Not(HasSubstr("No CUDA runtime")));
}

TEST_F(LibraryExport, TheTimesComeWithTheirMeaning) {
  const ExportedKernel kernel = exported("2");
  write(kernel);
  const ChildExit timed = python({"test_regression.py", "--time"});
  EXPECT_EQ(timed.exit_code, 0) << timed.err;
  EXPECT_THAT(timed.out, HasSubstr("up to 10 in either direction is acceptable"));
  EXPECT_THAT(timed.out, HasSubstr("\neager_ms_all_threads is the time of the PyTorch module"));
  EXPECT_EQ(python({"test_regression.py", "--ti"}).exit_code, 2) << "no abbreviations";
}

TEST_F(LibraryExport, ItsOwnTestPassesAndABackwardPassRaises) {
  const ExportedKernel kernel = exported("2");
  write(kernel);
  const ChildExit own = python({"test_regression.py"});
  EXPECT_EQ(own.exit_code, 0) << own.err;
  const ChildExit end = python({"-c", "import torch, " + name_of(kernel) + R"py( as package
x = torch.randn(4, 8, requires_grad=True)
y = package.solve(x)  # what asks for no gradient works
print("right", torch.equal(y, 2 * x))
for call in (y.sum().backward, lambda: package.solve_out(x, torch.empty(4, 8))):
    try:
        call()
    except RuntimeError as error:
        print(str(error).splitlines()[0])
print("gradient", x.grad)
with torch.no_grad():
    package.solve_out(x, torch.empty(4, 8))
import sys
del sys.modules[package.__name__]
try:
    __import__(package.__name__)
except ImportError as error:
    print(error)
)py"});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  const std::string name = name_of(kernel);
  EXPECT_THAT(end.out, HasSubstr("right True"));
  EXPECT_THAT(end.out, HasSubstr("derivative for " + name + "::solve is not implemented"));
  EXPECT_THAT(end.out, HasSubstr(name + ": solve_out has no gradient, but an input requires one"));
  EXPECT_THAT(end.out, HasSubstr("gradient None"));
  EXPECT_THAT(end.out, HasSubstr(name + ": this process already has ops of this name"));
}

TEST_F(LibraryExport, AMissingCompilerOrFolderIsNamed) {
  const ExportedKernel kernel = exported("2");
  write(kernel);
  const std::string name = name_of(kernel);
  const ChildExit no_compiler = python({"-c", R"py(import os
os.environ["CXX"] = "/nowhere/g++"
import )py" + name});
  EXPECT_THAT(no_compiler.err,
              HasSubstr(name + ": cannot run the compiler /nowhere/g++: No such file or directory; "
                               "install g++ or set CXX"));
  const ChildExit no_folder = python({"-c", R"py(import pathlib
pathlib.Path(")py" + name + R"py(/_build").write_text("")
import )py" + name});
  EXPECT_THAT(no_folder.err, HasSubstr(": cannot write into "));
  EXPECT_THAT(no_folder.err, HasSubstr(name + "/_build: File exists; make it a folder"));
  const ChildExit no_sources = python({"-c", R"py(import shutil
shutil.rmtree(")py" + name + R"py(/csrc")
import )py" + name});
  EXPECT_THAT(no_sources.err, HasSubstr(name + "/csrc; copy the whole package, or export again"));
}

}  // namespace
}  // namespace warpsmith::commands
