// SPDX-License-Identifier: Apache-2.0
// The commands on a machine with a driver's library but without its device nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "runtime/cuda/driver.hpp"
#include "runtime/device/lease.hpp"
#include "runtime/environment.hpp"
#include "runtime/process/child.hpp"

namespace warpsmith::commands {
namespace {

const std::string no_nodes = "no /dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia-uvm-tools";

class LackingNodesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda::missing_device_nodes() != no_nodes) GTEST_SKIP() << "this machine has device nodes";
    ::setenv("LD_LIBRARY_PATH", WARPSMITH_FAKE_DRIVER, 1);
  }

  /// Runs the program with this result of cuInit.
  static ChildExit run(const char* result, std::vector<std::string> arguments) {
    ::setenv("WARPSMITH_FAKE_CUINIT", result, 1);
    arguments.insert(arguments.begin(), WARPSMITH_TEST_PROGRAM);
    return run(std::move(arguments));
  }
  static ChildExit run(std::vector<std::string> arguments) {
    ChildSpec spec;
    spec.argv = std::move(arguments);
    auto child = Child::start(spec);
    if (!child) throw std::runtime_error(child.error().message);
    return child->wait(Deadline::after(std::chrono::minutes{1}));
  }
};

TEST_F(LackingNodesTest, AFailingDriverIsReportedWithTheMissingNodes) {
  const ChildExit end = run("100", {"check", "configs/examples/copy"});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_EQ(end.out, "");
  EXPECT_EQ(end.err,
            "warpsmith: contract device: cuInit failed with error 100: a driver, but no "
            "usable GPU (" +
                no_nodes + "); --explain and --compile-only work without a GPU\n");
}

TEST_F(LackingNodesTest, AWorkingDriverIsRefusedWithoutTheNodes) {
  const ChildExit end = run("0", {"check", "configs/examples/copy"});
  EXPECT_EQ(end.exit_code, 2);
  EXPECT_EQ(end.out, "");
  EXPECT_EQ(end.err, "warpsmith: contract device: " + no_nodes +
                         "; in a container, give it these and /dev/nvidiaN; --explain and "
                         "--compile-only work without a GPU\n");
}

TEST_F(LackingNodesTest, ADriverThatIsTooOldIsRefusedAtTheStart) {
  if (cuda::built_cuda_version() == 0) GTEST_SKIP() << "built without a CUDA toolkit";
  ::setenv("WARPSMITH_FAKE_CUDA_VERSION", "12080", 1);
  const std::string cause = "the driver supports CUDA 12.8, but this build needs CUDA ";
  const std::vector<std::string> engine{"train", "configs/quickstart.toml", "--set",
                                        "generator.device=cuda"};
  for (const auto& arguments : {engine, {"serve", "configs/policy/tiny", "--device", "cuda"}}) {
    const ChildExit end = run("0", arguments);
    EXPECT_EQ(end.exit_code, 2) << arguments.front();
    EXPECT_NE(end.err.find(cause), std::string::npos) << end.err;
  }
  const ChildExit doctor = run("0", {"doctor"});
  EXPECT_NE(doctor.out.find(cause), std::string::npos) << doctor.out;
  ::unsetenv("WARPSMITH_FAKE_CUDA_VERSION");
}

TEST_F(LackingNodesTest, DoctorReportsWhetherKernelsReachTheHostsMemory) {
  const std::string name = "host_memory_0";
  for (const auto& [pageable, expected] :
       {std::pair{"0", "out of device code's reach"},
        std::pair{"1", "within device code's reach (HMM or ATS)"}}) {
    ::setenv("WARPSMITH_FAKE_PAGEABLE", pageable, 1);
    const ChildExit end = run("0", {"doctor"});
    const size_t at = end.out.find(name);
    ASSERT_NE(at, std::string::npos) << end.out;
    const std::string line = end.out.substr(at, end.out.find('\n', at) - at);
    EXPECT_NE(line.find(expected), std::string::npos) << line;
    EXPECT_EQ(end.out.find("uvm_disable_hmm=1") != std::string::npos, pageable[0] == '1');
  }
}

// Otherwise measurements of the sandbox and of the synthesis would not exclude each other.
TEST_F(LackingNodesTest, PythonWorkersGiveAGpuTheSameNameInLeases) {
  const std::string python = python_interpreter().string();
  if (!std::filesystem::exists(python)) GTEST_SKIP() << "no WARPSMITH_PYTHON";
  ::setenv("WARPSMITH_FAKE_CUINIT", "0", 1);
  const auto fake = cuda::DynamicLibrary::open({WARPSMITH_FAKE_DRIVER "/libcuda.so.1"});
  ASSERT_TRUE(fake) << fake.error().message;
  const auto driver = cuda::Driver::load();  // uses the library that exists by that name
  ASSERT_TRUE(driver) << driver.error().message;
  const auto gpus = driver->gpus();
  ASSERT_TRUE(gpus) << gpus.error().message;
  const std::string worker = (source_folder() / "synthesis/worker").string();
  const std::string script = "import sys; sys.path.insert(0, '" + worker + "'); import gpus; ";
  const ChildExit end = run({python, "-B", "-c", script + "print(gpus.lease_name())"});
  EXPECT_EQ(end.out, gpu_device(gpus->at(0)) + "\n") << end.err;
  EXPECT_EQ(end.out, "gpu-0000_1b_00.0\n");
}

TEST_F(LackingNodesTest, TrainingIsRefusedByItsConfiguration) {
  for (const std::string contract : {"device", "host"}) {
    const ChildExit end = run("0", {"train", "configs/h200-" + contract + ".toml"});
    EXPECT_EQ(end.exit_code, 2);
    EXPECT_TRUE(end.err.starts_with("warpsmith: sandbox.contract = \"" + contract)) << end.err;
    EXPECT_TRUE(end.err.ends_with(no_nodes + "; in a container, give it these and /dev/nvidiaN\n"))
        << end.err;
    EXPECT_EQ(std::ranges::count(end.err, '\n'), 1) << end.err;
  }
}

}  // namespace
}  // namespace warpsmith::commands
