// SPDX-License-Identifier: Apache-2.0
// Tasks of other suites' formats through the program: ingested, printed, and judged with a right
// and a wrong kernel. No GPU is needed.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/commands/program_fixture.hpp"

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string tasks = "tests/synthesis/formats";

using SuiteFormatsProgramTest = ProgramFixture;

/// A kernel for mean_gate_w48, whose slope is a constant of the workload.
std::string kernel(const std::string& slope) {
  return R"(#include "warpsmith.h"
#include <cmath>
extern "C" void solve(const void* const* in, void* const* out, const int64_t* dims) {
  const float* x = (const float*)in[0];
  const float* gate = (const float*)in[1];
  float* y = (float*)out[0];
  for (int64_t r = 0; r < dims[0]; ++r) {
    double mean = 0;
    for (int64_t c = 0; c < dims[1]; ++c) mean += x[r * dims[1] + c];
    mean /= (double)dims[1];
    for (int64_t c = 0; c < dims[1]; ++c) {
      const double open = 1 / (1 + std::exp(-(double)gate[c] * )" +
         slope + R"());
      y[r * dims[1] + c] = (float)((x[r * dims[1] + c] - mean) * open);
    }
  }
}
)";
}

TEST_F(SuiteFormatsProgramTest, EveryFormatIsIngested) {
  const ChildExit end = run({"bench", "tasks", tasks, "--json"});
  ASSERT_EQ(end.exit_code, 0) << end.out << end.err;
  const auto seen = nlohmann::json::parse(end.out);
  EXPECT_EQ(seen.at("tasks").size(), 4U);
  EXPECT_EQ(seen.at("refused"), 0) << end.out;
}

TEST_F(SuiteFormatsProgramTest, TextsArePrintedAsLinesOfJson) {
  const ChildExit end = run({"bench", "tasks", tasks + "/groups", "--texts"});
  ASSERT_EQ(end.exit_code, 0) << end.out << end.err;
  const auto line = nlohmann::json::parse(end.out);
  EXPECT_EQ(line.at("task"), "soft_clip");
  EXPECT_EQ(line.at("format"), "MultiKernelBench");
  EXPECT_EQ(line.at("file"), tasks + "/groups/pointwise/soft_clip.py");
  EXPECT_THAT(line.at("code").get<std::string>(), HasSubstr("def get_inputs():\n"));
}

TEST_F(SuiteFormatsProgramTest, AKernelIsJudgedOnTheWorkloadThatIsNamed) {
  const std::string definition = tasks + "/traces/definitions/norm/mean_gate_w48.json#";
  for (const auto& [workload, right, wrong] :
       {std::tuple{"1", "0.75", "2"}, std::tuple{"5", "2", "0.75"}}) {
    const ChildExit good = run({"check", "--task", definition + workload,
                                file(std::string{"right"} + workload + ".cpp", kernel(right))});
    EXPECT_EQ(good.exit_code, 0) << good.out << good.err;
    const ChildExit bad = run({"check", "--task", definition + workload,
                               file(std::string{"wrong"} + workload + ".cpp", kernel(wrong))});
    EXPECT_EQ(bad.exit_code, 1) << bad.out << bad.err;
    EXPECT_THAT(bad.out, StartsWith("wrong"));
  }
}

}  // namespace
}  // namespace warpsmith::commands
