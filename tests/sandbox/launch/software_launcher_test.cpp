// SPDX-License-Identifier: Apache-2.0
// The launcher's whole protocol in its jail, on the software device; needs no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "runtime/cuda/driver.hpp"
#include "sandbox/contract/device/device_launchers.hpp"
#include "tests/sandbox/launch/plans.hpp"
#include "tests/sandbox/support/sandbox_fixture.hpp"
#include "tests/sandbox/support/software_device/software_device.hpp"
#include "tests/sandbox/support/software_device/software_kernels.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::bound_to;
using testing::compile_software_kernels;
using testing::hang_guard;
using ::testing::HasSubstr;
using testing::in_seconds;
using testing::signature_of;
using testing::tensor;

constexpr const char* scale_kernel = R"cuda(
extern "C" __global__ void scale(const float* __restrict__ x, float* out, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = by * x[i];
}
)cuda";

std::string launch_of(const std::string& kernel, const std::string& args) {
  return "[[step]]\nlaunch = \"" + kernel +
         "\"\ngrid = [\"ceildiv(d0, 64)\"]\nblock = [64]\nargs = " + args + "\n";
}
const std::string scale_plan = launch_of("scale", R"(["x", "out", "d0", {f32 = 3.0}])");

Compiled compile(const std::string& source, const BoundPlan& plan) {
  static const test_support::TemporaryFolder folder;
  static auto compiler = CpuCompiler::create({.cache_dir = folder.path()});
  if (!compiler) throw std::runtime_error(compiler.error().message);
  auto compiled = compile_software_kernels(*compiler, {{"kernels.cu", source}}, plan, hang_guard());
  if (!compiled) throw std::runtime_error(compiled.error().message);
  return std::move(*compiled);
}

LauncherOptions software() {
  LauncherOptions options;
  options.program = testing::software_launcher_program();
  options.calibration_calls = 8;
  return options;
}

/// A launcher with a plan and its own memory.
class Launched {
 public:
  Launched(const TaskSignature& signature, const std::string& text, const std::string& source = "",
           LauncherPool* pool = nullptr)
      : plan_(bound_to(signature, text)),
        layout_(make_layout(signature, 2)),
        inputs_(*SharedBuffers::inputs(layout_)),
        outputs_(*SharedBuffers::outputs(layout_)) {
    std::string artefact;
    if (!source.empty()) {
      const Compiled compiled = compile(source, plan_);
      if (compiled.failure) throw std::runtime_error(compiled.text);
      artefact = compiled.artefact;
    }
    LauncherPool own{software()};
    DeviceContestantSpec spec{.plan = plan_, .artefact = artefact, .layout = layout_};
    spec.inputs_fd = inputs_.fd();
    spec.outputs_fd = outputs_.fd();
    spec.input_bytes = layout_.input_total();
    spec.output_bytes = layout_.output_total();
    contestant_.emplace(start_device_contestant(pool != nullptr ? *pool : own, spec, hang_guard()));
    if (!*contestant_) throw std::runtime_error(contestant_->error().message);
  }
  Contestant& contestant() { return (*contestant_)->contestant; }
  std::span<float> floats(size_t tensor, uint32_t set = 0) const {
    const auto& memory = layout_.slots[tensor].output ? outputs_ : inputs_;
    const std::span<std::byte> bytes = memory.tensor(set, tensor);
    return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
  }
  /// Loads, then calls on set 0.
  CallResult once(int seconds = 60) {
    const CallResult loaded = contestant().load(hang_guard());
    return loaded.fault ? loaded : contestant().call(0, in_seconds(seconds));
  }

 private:
  BoundPlan plan_;
  BufferLayout layout_;
  SharedBuffers inputs_, outputs_;
  std::optional<OrFailure<WarmLauncher>> contestant_;
};

TaskSignature vectors(int64_t count = 1000) {
  return signature_of(
      {tensor("x", TensorRole::input, {count}), tensor("out", TensorRole::output, {count})},
      {count});
}

TEST(SoftwareLauncherTest, CarriesOutLaunchesOnEverySet) {
  Launched launched(vectors(), scale_plan, scale_kernel);
  ASSERT_FALSE(launched.contestant().load(hang_guard()).fault);
  for (uint32_t call = 0; call < 6; ++call) {
    const uint32_t set = call % 2;
    std::ranges::fill(launched.floats(0, set), static_cast<float>(call));
    const CallResult result = launched.contestant().call(set, hang_guard());
    ASSERT_FALSE(result.fault) << result.fault->detail;
    EXPECT_EQ(launched.floats(1, set)[999], 3 * static_cast<float>(call));
    EXPECT_GT(result.device.count(), 0);
    EXPECT_LE(result.device, result.elapsed);
  }
}

TEST(SoftwareLauncherTest, RunsInAJailOfItsOwnKind) {
  Launched launched(vectors(), scale_plan, scale_kernel);
  const auto& report = launched.contestant().process().report();
  std::vector<std::string> lacking{"devices", "host_memory"};
  if (!report.at("memory").starts_with("cgroup")) lacking.emplace_back("memory");
  EXPECT_EQ(missing_primitives(report, JailKind::launch), lacking);
}

TEST(LaunchJailTest, ReportsWhetherKernelsReachTheLaunchersMemory) {
  LauncherOptions options = software();
  options.gpu = GpuAccess{};
  EXPECT_EQ(launch_jail(options).value().known.at("host_memory"), cuda::host_memory_within_reach);
  options.gpu->host_memory_isolated = true;
  EXPECT_EQ(launch_jail(options).value().known.at("host_memory"), cuda::host_memory_out_of_reach);
  options.gpu.reset();
  EXPECT_EQ(launch_jail(options).value().known.at("host_memory"), cuda::host_memory_within_reach)
      << "without a GPU, kernels run in the launcher's own process";
}

TEST(SoftwareLauncherTest, CarriesOutLibraryStepsMemsetAndCopy) {
  const TaskSignature signature = signature_of(
      {tensor("x", TensorRole::input, {2, 3}), tensor("image", TensorRole::input, {1, 1, 4}),
       tensor("w", TensorRole::parameter, {3, 2}),
       tensor("filter", TensorRole::parameter, {1, 1, 2}),
       tensor("out", TensorRole::output, {2, 2}), tensor("bytes", TensorRole::output, {2, 2}),
       tensor("same", TensorRole::output, {2, 3}), tensor("sums", TensorRole::output, {1, 1, 3})},
      {2, 3});
  Launched launched(signature,
                    "[[step]]\ngemm = \"out\"\na = \"x\"\nb = \"w\"\nm = 2\nn = 2\nk = 3\n"
                    "[[step]]\nmemset = \"bytes\"\nvalue = 0\n"
                    "[[step]]\ncopy = \"same\"\nfrom = \"x\"\n"
                    "[[step]]\nconv = \"sums\"\nx = \"image\"\nw = \"filter\"\n");
  std::iota(launched.floats(0).begin(), launched.floats(0).end(), 1.0F);
  std::iota(launched.floats(1).begin(), launched.floats(1).end(), 1.0F);
  std::iota(launched.floats(2).begin(), launched.floats(2).end(), 1.0F);
  std::ranges::fill(launched.floats(3), 1.0F);
  std::ranges::fill(launched.floats(5), 7.0F);
  const CallResult result = launched.once();
  ASSERT_FALSE(result.fault) << result.fault->detail;
  const auto list = [&](size_t tensor) {
    const auto values = launched.floats(tensor);
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_EQ(list(4), (std::vector<float>{22, 28, 49, 64}));
  EXPECT_EQ(list(5), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(list(6), list(0));
  EXPECT_EQ(list(7), (std::vector<float>{3, 5, 7}));
}

TEST(SoftwareLauncherTest, CarriesOutTheVariantThatFitsTheExtents) {
  const std::string plan =
      "[[variant]]\nwhen = \"d0 % 4 == 0\"\n[[variant.step]]\nmemset = \"out\"\nvalue = 1\n"
      "[[variant]]\n[[variant.step]]\nmemset = \"out\"\nvalue = 2\n";
  for (const int64_t count : {8, 9}) {
    Launched launched(vectors(count), plan);
    const CallResult result = launched.once();
    ASSERT_FALSE(result.fault) << result.fault->detail;
    EXPECT_EQ(static_cast<int>(std::as_bytes(launched.floats(1))[0]), count == 8 ? 1 : 2);
  }
}

TEST(SoftwareLauncherTest, LeavesUnwrittenOutputsUnchanged) {
  Launched launched(vectors(), launch_of("nothing", R"(["out"])"),
                    "extern \"C\" __global__ void nothing(float*) {}");
  std::ranges::fill(launched.floats(1), 42.0F);
  const CallResult result = launched.once();
  ASSERT_FALSE(result.fault) << result.fault->detail;
  EXPECT_EQ(launched.floats(1)[500], 42.0F);
}

/// The fault of one call of a kernel over x and out.
Fault fault_of(const std::string& body, int seconds = 60) {
  Launched launched(vectors(), launch_of("k", R"(["x", "out"])"),
                    "extern \"C\" __global__ void k(const float* x, float* out) {" + body + "}");
  const CallResult result = launched.once(seconds);
  EXPECT_TRUE(result.fault) << body;
  return result.fault.value_or(Fault{VerdictClass::passed, ""});
}

TEST(SoftwareLauncherTest, FaultsEndOnlyTheCandidate) {
  EXPECT_EQ(fault_of("out[0] = x[0]; while (true) asm volatile(\"\");", 1).outcome,
            VerdictClass::timeout);
  EXPECT_EQ(fault_of("*(volatile int*)8 = 1;").outcome, VerdictClass::device_fault);
  EXPECT_EQ(fault_of("((float*)x)[3] = 1;").outcome, VerdictClass::device_fault);
  Launched next(vectors(), scale_plan, scale_kernel);
  EXPECT_FALSE(next.once().fault);
}

TEST(SoftwareLauncherTest, RefusalsNameThePlaceInThePlan) {
  const auto refusal = [](const std::string& plan, const std::string& source = scale_kernel) {
    const CallResult loaded = Launched(vectors(), plan, source).contestant().load(hang_guard());
    return loaded.fault && loaded.fault->outcome == VerdictClass::launch_error
               ? loaded.fault->detail
               : "no refusal";
  };
  EXPECT_EQ(refusal(launch_of("scale", R"(["x", "out"])")),
            "plan.toml:1:1: \"scale\" takes 4 arguments");
  EXPECT_EQ(refusal(launch_of("scale", R"(["x", "out", "out", {f32 = 1.0}])")),
            "plan.toml:1:1: argument 3 of \"scale\" has 4 bytes");
  EXPECT_EQ(refusal(scale_plan + "cooperative = true\n"),
            "plan.toml:1:1: the software device has no clusters, cooperative launches or dynamic "
            "shared memory");
}

TEST(SoftwareKernelsTest, TheCompilerRefusesCooperationOfThreads) {
  const BoundPlan plan = bound_to(vectors(), launch_of("k", R"(["out"])"));
  const Compiled barrier = compile(
      "extern \"C\" __global__ void k(float* out) {\n  __shared__ float t[4];\n  t[0] = 1;\n"
      "  __syncthreads();\n  out[0] = t[0];\n}",
      plan);
  ASSERT_TRUE(barrier.failure);
  EXPECT_EQ(*barrier.failure, VerdictClass::compile_error);
  EXPECT_THAT(barrier.text, HasSubstr("the software device has no __syncthreads"));
  EXPECT_THAT(barrier.text, HasSubstr("kernels.cu:4"));
  const Compiled missing = compile("extern \"C\" __global__ void other(float*) {}", plan);
  ASSERT_TRUE(missing.failure);
  EXPECT_THAT(missing.text, HasSubstr("k"));
}

TEST(SoftwareLauncherTest, TakesOnlyOnePlan) {
  Launched launched(vectors(), scale_plan, scale_kernel);
  ASSERT_FALSE(launched.once().fault);
  const auto fault = launched.contestant().release(hang_guard()).fault;
  ASSERT_TRUE(fault);
  EXPECT_THAT(fault->detail, HasSubstr("broke the protocol"));
}

TEST(LauncherPoolTest, ReplacesALauncherThatDiedWhileItWaited) {
  LauncherOptions options = software();
  options.ready = 2;
  LauncherPool pool{options};
  ASSERT_TRUE(pool.refill().has_value());
  ASSERT_TRUE(pool.settle(hang_guard()).has_value());
  auto first = pool.take(hang_guard());
  ASSERT_TRUE(first.has_value()) << first.error().message;
  kill_all_jails();
  ASSERT_EQ(pool.waiting(), 1U);
  Launched launched(vectors(), scale_plan, scale_kernel, &pool);
  EXPECT_EQ(pool.waiting(), 0U);
  EXPECT_FALSE(launched.once().fault);
}

TEST(LauncherPoolTest, ReportsWhyNoLauncherStarts) {
  LauncherOptions options = software();
  options.program = testing::sandbox_program();
  options.gpu = GpuAccess{};  // its jail shows no GPU
  LauncherPool pool{options};
  const auto taken = pool.take(hang_guard());
  ASSERT_FALSE(taken.has_value());
  EXPECT_THAT(taken.error().message, HasSubstr("launcher ("));
}

}  // namespace
}  // namespace warpsmith::sandbox
