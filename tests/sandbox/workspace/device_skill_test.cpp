// SPDX-License-Identifier: Apache-2.0
// Checks the SKILL.md of contract `device`: every plan binds and matches the kernels next to it,
// and everything that it forbids is refused. Needs no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "runtime/environment.hpp"
#include "sandbox/contract/device/cuda_compiler.hpp"
#include "sandbox/contract/device/device_candidate.hpp"
#include "sandbox/plan/plan.hpp"
#include "sandbox/plan/plan_reader.hpp"
#include "tests/sandbox/workspace/skill_blocks.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::seconds;
using testing::blocks_in;
using testing::device_skill;
using ::testing::HasSubstr;

std::string without_licence(const std::string& path) {
  std::ifstream in{path};
  std::string text;
  for (std::string line; std::getline(in, line);) {
    if (line.find("SPDX") == std::string::npos) text += line + '\n';
  }
  return text;
}

class DeviceSkillTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto toolchain = find_cuda_toolchain(built_with_toolkit(), python_interpreter());
    if (!toolchain) GTEST_SKIP() << toolchain.error().message;
    auto opened = CudaCompiler::open(
        {{.program = WARPSMITH_SANDBOX_PROGRAM, .cache_dir = folder_.path()}, *toolchain},
        Deadline::after(seconds{60}));
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    compiler_ = std::make_unique<CudaCompiler>(std::move(*opened));
  }

  Compiled compile(const FileSet& files) {
    auto compiled = compiler_->compile(files, Deadline::after(seconds{60}));
    if (!compiled) throw std::runtime_error(compiled.error().message);
    return std::move(*compiled);
  }
  Compiled compile(const std::string& kernels) { return compile(FileSet{{"kernels.cu", kernels}}); }

  /// Why a solution cannot be launched; empty if it can.
  std::string objection(const FileSet& files) {
    const auto plan = device_plan(files);
    if (!plan) return plan.error().text;
    Compiled compiled = compile(files);
    if (compiled.failure) return compiled.text;
    const auto signature = testing::skill_signature({testing::output_of(files.at(plan_file))});
    const auto candidate =
        device_candidate(*plan, std::move(compiled), signature, PrecisionLane::fp32_strict);
    return candidate ? "" : candidate.error().text;
  }

  test_support::TemporaryFolder folder_;
  std::unique_ptr<CudaCompiler> compiler_;
};

TEST_F(DeviceSkillTest, EveryPlanBindsAndMatchesTheKernelsNextToIt) {
  const std::vector<FileSet> solutions = testing::skill_solutions();
  EXPECT_EQ(solutions.size(), 6U);
  for (const FileSet& files : solutions) EXPECT_EQ(objection(files), "") << files.at(plan_file);
}

TEST_F(DeviceSkillTest, RefusesEverythingThatItForbids) {
  const auto kernel = [](const std::string& body) {
    return "extern \"C\" __global__ void k(int* p) { " + body + " }";
  };
  for (const char* body :
       {"if (*p == 3) printf(\"%d\", *p);", "assert(*p == 3);", "*(int**)p = (int*)malloc(*p);"}) {
    EXPECT_EQ(compile(kernel(body)).failure, VerdictClass::banned_construct) << body;
  }
  const Compiled launches = compile(
      "__global__ void child(int* p) { *p = 1; }\n"
      "extern \"C\" __global__ void k(int* p) { child<<<1, 1>>>(p); }");
  EXPECT_TRUE(launches.failure.has_value()) << "a launch within a kernel";
}

TEST_F(DeviceSkillTest, HeadersThatItNamesExist) {
  const Compiled compiled = compile(
      "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <mma.h>\n"
      "#include <cooperative_groups.h>\n#include <cuda/std/limits>\n"
      "extern \"C\" __global__ void k(float* y) {\n"
      "  cooperative_groups::this_grid().sync();\n"
      "  *y = cuda::std::numeric_limits<float>::max();\n}\n");
  EXPECT_FALSE(compiled.failure) << compiled.text;
}

TEST(DeviceSkillTextTest, ItsExampleIsAlsoCheckedOnGpus) {
  const std::string text = device_skill(), folder = "configs/examples/rms_norm_linear/solution/";
  EXPECT_EQ(blocks_in(text, "cuda").back(), without_licence(folder + device_source_file));
  EXPECT_EQ(blocks_in(text, "toml").back(), without_licence(folder + plan_file));
}

TEST(DeviceSkillTextTest, NamesEveryWordOfPlans) {
  const std::string text = device_skill();
  for (const char* step : {"launch", "gemm", "conv", "memset", "copy"}) {
    EXPECT_THAT(text, HasSubstr("\n" + std::string(step) + " = ")) << step;
  }
  for (const auto& [name, value] : epilogue_names) EXPECT_THAT(text, HasSubstr(std::string(name)));
  for (const auto& [name, value] : swizzle_names) {
    EXPECT_THAT(text, HasSubstr('"' + std::string(name) + '"'));
  }
}

TEST(DeviceSkillTextTest, ItsLimitsAreThoseOfTheCode) {
  const PlanLimits limits;
  const auto says = [text = device_skill()](size_t number, const std::string& of) {
    return text.find(std::to_string(number) + ' ' + of) != std::string::npos;
  };
  EXPECT_TRUE(says(plan_steps, "steps"));
  EXPECT_TRUE(says(plan_variants, "variants"));
  EXPECT_TRUE(says(plan_scratch, "scratch buffers"));
  EXPECT_TRUE(says(limits.scratch_bytes >> 30U, "GiB together"));
  EXPECT_TRUE(says(limits.shared_bytes >> 10U, "KiB of shared memory"));
  EXPECT_TRUE(says(limits.cluster_blocks, "blocks a cluster"));
  EXPECT_TRUE(says(plan_args, "arguments"));
  EXPECT_TRUE(says(most_global_bytes >> 20U, "MiB of `__device__` variables"));
  EXPECT_LE(std::ranges::count(device_skill(), '\n'), 320);
}

}  // namespace
}  // namespace warpsmith::sandbox
