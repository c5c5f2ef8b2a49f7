// SPDX-License-Identifier: Apache-2.0
// Checks of plans against compiled kernels.
#include "sandbox/plan/match_kernels.hpp"

#include <gtest/gtest.h>

#include "runtime/clock.hpp"
#include "sandbox/plan/plan_reader.hpp"

namespace warpsmith::sandbox {
namespace {

TaskSignature signature() {
  const TensorSpec x{.name = "x", .role = TensorRole::input, .shape = {1000}};
  const TensorSpec out{.name = "out", .role = TensorRole::output, .shape = {1000}};
  return {.tensors = {x, out}, .dim_names = {"d0"}, .dims = {1000}};
}

/// The error of a plan against a cubin with scale(x, out, int n, double).
std::string complaint(const std::string& name, const std::string& args,
                      const std::string& rest = "") {
  CubinFacts cubin{.architecture = 90};
  cubin.kernels["scale"] = {.registers = 96,
                            .shared_bytes = 2048,
                            .max_threads = 512,
                            .parameters = {{0, 8}, {8, 8}, {16, 4}, {24, 8}}};
  const auto plan = read_plan("[[step]]\nlaunch = \"" + name + "\"\ngrid = [1]\nargs = " + args +
                              "\n" + (rest.empty() ? "block = [128]\n" : rest));
  if (!plan) return plan.error().message;
  auto bound = bind_variants(*plan, signature(), {});
  if (!bound) return bound.error().message;
  const auto matched = match_kernels(*plan, *bound, cubin, {});
  return matched ? "" : matched.error().message;
}

TEST(MatchKernelsTest, ArgumentsMatchInNumberAndWidth) {
  EXPECT_EQ(complaint("scale", "[\"x\", \"out\", \"d0\", {f64 = 0.5}]"), "");
  EXPECT_EQ(complaint("scale", "[\"x\", \"out\", {i32 = 3}, \"d0\"]"), "");
  EXPECT_EQ(complaint("scale", "[\"x\", \"out\"]"),
            "plan.toml:2:10: \"scale\" takes 4 arguments, got 2");
  EXPECT_EQ(complaint("scale", "[\"x\", \"out\", \"out\", {f32 = 0.5}]"),
            "plan.toml:4:21: argument 3 of \"scale\" is 8 bytes, the parameter 4\n"
            "plan.toml:4:28: argument 4 of \"scale\" is 4 bytes, the parameter 8");
  EXPECT_EQ(complaint("scal", "[\"out\"]"),
            "plan.toml:2:10: no kernel \"scal\" in kernels.cu; the nearest is \"scale\" (declare "
            "it extern \"C\" __global__)");
}

TEST(MatchKernelsTest, ReportsWrongCountsTogetherWithBindingErrors) {
  CubinFacts cubin{.architecture = 90};
  cubin.kernels["scale"].parameters = {{0, 8}, {8, 8}};
  const auto complaint_of = [&](const std::string& text) {
    const auto plan = read_plan(text);
    if (!plan) return plan.error().message;
    const auto bound = bind_variants(*plan, signature(), {}, match_texts(*plan, cubin));
    return bound ? "" : bound.error().message;
  };
  const std::string scale = "[[step]]\nlaunch = \"scale\"\ngrid = [1]\nblock = [1]\nargs = ";
  EXPECT_EQ(complaint_of(scale + "[\"x\"]\n[[step]]\ncopy = \"x\"\nfrom = \"x\"\n"),
            "plan.toml:2:10: \"scale\" takes 2 arguments, got 1\n"
            "plan.toml:7:8: \"x\" is an input and cannot be written");
  EXPECT_EQ(complaint_of(scale + "[\"out\"]\n"), "") << "match_kernels reports it";
}

/// The candidate chooses both lists of names, and the check runs in the verifier's own time:
/// without a limit on the comparisons, this exceeds the test's.
TEST(MatchKernelsTest, ManyUnknownKernelsAreComparedWithinALimit) {
  CubinFacts cubin{.architecture = 90};
  for (int i = 0; i < 500; ++i) cubin.kernels[std::string(490, 'p') + std::to_string(i)] = {};
  std::string text;
  for (int i = 0; i < 64; ++i) {
    text += "[[step]]\nlaunch = \"" + std::string(490, 'q') + std::to_string(i) +
            "\"\ngrid = [1]\nblock = [1]\nargs = [\"out\"]\n";
  }
  const auto plan = read_plan(text);
  ASSERT_TRUE(plan) << plan.error().message;
  auto bound = bind_variants(*plan, signature(), {});
  ASSERT_TRUE(bound) << bound.error().message;
  const auto matched = match_kernels(*plan, *bound, cubin, {});
  ASSERT_FALSE(matched);
  EXPECT_TRUE(matched.error().message.ends_with("\nand 44 more")) << matched.error().message;
}

TEST(MatchKernelsTest, NumbersMustFitTheirParameters) {
  EXPECT_EQ(complaint("scale", "[\"x\", \"out\", 4294967295, {f64 = 1e300}]"), "");
  EXPECT_EQ(complaint("scale", "[\"x\", \"out\", -2147483648, {f64 = 0.5}]"), "");
  EXPECT_EQ(complaint("scale", "[\"x\", \"out\", 4294967296, {f64 = 0.5}]"),
            "plan.toml:4:21: argument 3 of \"scale\" is 4294967296, the parameter 4 bytes");
  EXPECT_EQ(complaint("scale", "[\"x\", \"out\", \"d0 * -5000000\", {f64 = 0.5}]"),
            "plan.toml:4:21: argument 3 of \"scale\" is -5000000000, the parameter 4 bytes");
  EXPECT_EQ(complaint("scale", "[\"x\", \"out\", {f32 = 1e39}, {f64 = 0.5}]"),
            "plan.toml:4:21: argument 3 of \"scale\" is beyond a float's range, the parameter 4 "
            "bytes");
}

TEST(MatchKernelsTest, BlocksHoldTheirRegistersAndMemory) {
  const std::string args = "[\"x\", \"out\", \"d0\", {f64 = 0.5}]";
  EXPECT_EQ(complaint("scale", args, "block = [1024]\n"),
            "plan.toml:2:10: \"scale\": a block of 1024 threads, its __launch_bounds__ allow 512\n"
            "plan.toml:2:10: \"scale\": 1024 threads of 96 registers do not fit one block's 65536");
  EXPECT_EQ(complaint("scale", args, "block = [128]\nshared = 230400\n"), "");
  EXPECT_EQ(complaint("scale", args, "block = [128]\nshared = 230401\n"),
            "plan.toml:2:10: \"scale\": 230401 bytes of dynamic and 2048 of static shared memory, "
            "a block has 232448");
  EXPECT_EQ(complaint("scale", args, "block = [128]\nshared = 232000\n"),
            "plan.toml:2:10: \"scale\": 232000 bytes of dynamic and 2048 of static shared memory, "
            "a block has 232448");
}

}  // namespace
}  // namespace warpsmith::sandbox
