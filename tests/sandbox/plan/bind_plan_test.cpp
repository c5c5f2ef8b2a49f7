// SPDX-License-Identifier: Apache-2.0
// Binding plans to given extents: the resulting numbers, and the places of all errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/plan/bound_plan.hpp"
#include "sandbox/plan/explain.hpp"
#include "sandbox/plan/plan_reader.hpp"
#include "tests/support/mutate.hpp"

namespace warpsmith::sandbox {
namespace {

TensorSpec tensor(const std::string& name, TensorRole role, std::vector<int64_t> shape) {
  return {.name = name, .role = role, .shape = std::move(shape)};
}

/// out[96, 40] = x[96, 33] · weight[40, 33]ᵀ + bias; image and filter are for convolutions.
TaskSignature linear() {
  return {.tensors = {tensor("x", TensorRole::input, {96, 33}),
                      tensor("image", TensorRole::input, {2, 6, 9, 9}),
                      tensor("weight", TensorRole::parameter, {40, 33}),
                      tensor("bias", TensorRole::parameter, {40}),
                      tensor("filter", TensorRole::parameter, {4, 3, 3, 3}),
                      tensor("out", TensorRole::output, {96, 40})},
          .dim_names = {"d0", "d1", "d2"},
          .dims = {96, 33, 40}};
}

const std::string scratch_t = "[scratch.t]\ndtype = \"f32\"\nshape = [\"d0\", \"d2\"]\n";

Result<BoundPlan> bound_of(const std::string& text, const PlanLimits& limits = {}) {
  auto plan = read_plan(text);
  if (!plan) return tl::unexpected(plan.error());
  return bind_plan(*plan, linear(), limits);
}

std::string complaint(const std::string& text, const PlanLimits& limits = {}) {
  const auto bound = bound_of(text, limits);
  return bound ? "" : bound.error().message;
}

std::string launch(const std::string& rest) {
  return "[[step]]\nlaunch = \"k\"\ngrid = [1]\nblock = [32]\nargs = [\"out\"]\n" + rest;
}

std::string gemm(const std::string& rest) {
  return "[[step]]\ngemm = \"out\"\na = \"x\"\nb = \"weight\"\nm = \"d0\"\nn = \"d2\"\nk = "
         "\"d1\"\n" +
         rest;
}

TEST(BindPlanTest, LaunchesHaveNumbersAndIndices) {
  const auto bound = bound_of(scratch_t + R"toml(
[[step]]
launch = "rows"
grid = ["d0", "ceildiv(d1, 32)"]
block = [32, 4]
cluster = [2]
shared = "4 * d1"
args = ["x", "t", "out", "d0", "d0 * d1", {f32 = 0.5}]
)toml");
  ASSERT_TRUE(bound.has_value()) << bound.error().message;
  ASSERT_EQ(bound->buffers.size(), 7U);
  EXPECT_EQ(bound->buffers[6].bytes, 96U * 40 * 4);
  EXPECT_EQ(bound->scratch_bytes, 15360U);
  const auto& step = std::get<BoundLaunch>(bound->steps[0].what);
  EXPECT_EQ(step.grid.x, 96U);
  EXPECT_EQ(step.grid.y, 2U);
  EXPECT_EQ(step.block.y, 4U);
  EXPECT_EQ(step.cluster->x, 2U);
  EXPECT_EQ(step.shared, 132U);
  EXPECT_EQ(std::get<BoundPointer>(step.args[1]).buffer, 6U);
  EXPECT_EQ(std::get<BoundScalar>(step.args[3]).whole, 96);
  EXPECT_EQ(std::get<BoundScalar>(step.args[4]).whole, 96 * 33);
  EXPECT_EQ(std::get<BoundScalar>(step.args[5]).real, 0.5);
}

TEST(BindPlanTest, ArgumentsMayHaveDots) {
  TaskSignature signature = linear();
  signature.tensors[2].name = "layers.0.weight";
  const auto bound_with = [&](const std::string& argument) {
    return bind_plan(*read_plan("[[step]]\nlaunch = \"k\"\ngrid = [1]\nblock = [1]\n"
                                "args = [\"out\", \"" +
                                argument + "\"]\n"),
                     signature, {});
  };
  const auto bound = bound_with("layers.0.weight");
  ASSERT_TRUE(bound.has_value()) << bound.error().message;
  const auto& step = std::get<BoundLaunch>(bound->steps[0].what);
  EXPECT_EQ(std::get<BoundPointer>(step.args[1]).buffer, 2U);
  EXPECT_EQ(bound_with("layers.1.weight").error().message,
            "plan.toml:5:16: no tensor or scratch \"layers.1.weight\"; the nearest is "
            "\"layers.0.weight\"");
}

TEST(BindPlanTest, LaunchesStayWithinTheDevicesLimits) {
  EXPECT_EQ(complaint(launch("")), "");
  EXPECT_EQ(complaint("[[step]]\nlaunch = \"k\"\ngrid = [\"d0 - 96\"]\nblock = [1025]\n"
                      "args = [\"out\"]\n"),
            "plan.toml:3:10: grid: expected 1 to 2147483647, got 0\n"
            "plan.toml:4:10: block: expected 1 to 1024, got 1025");
  EXPECT_EQ(complaint("[[step]]\nlaunch = \"k\"\ngrid = [1]\nblock = [64, 32]\nargs = [\"out\"]\n"),
            "plan.toml:4:10: block: expected at most 1024 threads, got 2048");
  EXPECT_EQ(complaint(launch("shared = 300000\n")),
            "plan.toml:6:10: shared: expected 0 to 232448, got 300000");
  EXPECT_EQ(complaint(launch("cluster = [2]\n")),
            "plan.toml:6:12: the grid, 1 x 1 x 1, is no multiple of the cluster, 2 x 1 x 1");
  EXPECT_EQ(complaint("[[step]]\nlaunch = \"k\"\ngrid = [\"d0 / (d1 - 33)\"]\nblock = [1]\n"
                      "args = [\"out\"]\n"),
            "plan.toml:3:13: division by zero");
  const std::string odd = "an expression stands in one pair of quotes on one line, without escapes";
  for (const char* grid : {"\"\"\"d0\"\"\"", "\"\"\"\nd0\"\"\"", "\"d\\u0030\""}) {
    EXPECT_EQ(complaint("[[step]]\nlaunch = \"k\"\ngrid = [" + std::string(grid) +
                        "]\nblock = [1]\nargs = [\"out\"]\n"),
              "plan.toml:3:9: " + odd);
  }
  EXPECT_EQ(complaint(launch("shared = \"d0 × 2\"\n")), "plan.toml:6:14: expected an operator");
  EXPECT_EQ(complaint("[[step]]\nlaunch = \"k\"\ngrid = [1]\nblock = [1]\n"
                      "args = [\"outt\", \"d9 + 1\", {i32 = \"d0 * 1000000000\"}]\n"),
            "plan.toml:5:9: no tensor or scratch \"outt\"; the nearest is \"out\"\n"
            "plan.toml:5:18: unknown symbol \"d9\"; known: d0 d1 d2\n"
            "plan.toml:5:35: argument: expected -2147483648 to 2147483647, got 96000000000");
}

TEST(BindPlanTest, ScratchIsBounded) {
  EXPECT_EQ(complaint(scratch_t + launch(""), {.scratch_bytes = 10'000}),
            "plan.toml:1:1: scratch: expected at most 10000 bytes in all, got 15360");
  const std::string bomb = "[scratch.t]\nshape = [1000000000000, 1000000000000, 1000000000000]\n";
  EXPECT_EQ(complaint(bomb + launch("")), "plan.toml:1:1: scratch \"t\" is larger than any memory");
  // 2^64 - 16 bytes, which rounding up would wrap to 0.
  const std::string wrap = "[scratch.t]\ndtype = \"f32\"\nshape = [1073741823, 4294967300]\n";
  EXPECT_EQ(complaint(wrap + launch("")), "plan.toml:1:1: scratch \"t\" is larger than any memory");
  EXPECT_EQ(complaint("[scratch.x]\nshape = [1]\n" + launch("")),
            "plan.toml:1:1: scratch \"x\" has the name of a tensor or an extent");
  EXPECT_EQ(complaint("[scratch.t]\nshape = [\"0 - 1\"]\n" + launch("")),
            "plan.toml:2:11: an extent of scratch: expected 0 to 1099511627776, got -1");
}

TEST(BindPlanTest, TheFirstVariantWhoseConditionHoldsIsUsed) {
  const std::string text =
      "[[variant]]\nwhen = \"d1 % 4 == 0\"\n[[variant.step]]\nmemset = \"out\"\nvalue = 1\n"
      "[[variant]]\nwhen = \"d0 > 90\"\n[[variant.step]]\nmemset = \"out\"\nvalue = 2\n";
  const auto bound = bound_of(text);
  ASSERT_TRUE(bound.has_value()) << bound.error().message;
  EXPECT_EQ(bound->variant, 1U);
  EXPECT_EQ(std::get<BoundMemset>(bound->steps[0].what).value, 2);
  EXPECT_EQ(complaint("[[variant]]\nwhen = \"d0 < 0\"\n[[variant.step]]\nmemset = \"out\"\n"),
            "plan.toml:1:1: no variant is for these extents; give the last one no \"when\"");
}

TEST(BindPlanTest, ProductsStayWithinTheirBuffers) {
  const auto bound = bound_of(gemm("trans_b = true\nbias = \"bias\"\nepilogue = \"bias_gelu\"\n"));
  ASSERT_TRUE(bound.has_value()) << bound.error().message;
  const auto& product = std::get<BoundGemm>(bound->steps[0].what);
  EXPECT_EQ(product.b.rows, 40);
  EXPECT_EQ(product.b.row, 33);
  EXPECT_EQ(product.bias, 3U);
  EXPECT_EQ(complaint(gemm("")), "");  // 33×40 also fits the weight's elements
  EXPECT_EQ(complaint(gemm("row_a = 34\n")),
            "plan.toml:3:5: the product reaches beyond the 3168 elements of \"x\": it needs 3263");
  EXPECT_EQ(complaint(gemm("batch = 2147483647\nstride_a = 1099511627776\nstride_b = 0\n"
                           "stride_out = 0\n")),
            "plan.toml:2:8: the matrices of the batch overlap in the output\n"
            "plan.toml:3:5: the product reaches beyond the 3168 elements of \"x\": it needs more "
            "than 9223372036854775807");
  EXPECT_EQ(complaint(gemm("row_a = 32\n")),
            "plan.toml:3:5: rows of 33 elements cannot begin every 32");
  EXPECT_EQ(complaint(gemm("batch = 2\nstride_a = 0\nstride_b = 0\nstride_out = 0\n")),
            "plan.toml:2:8: the matrices of the batch overlap in the output");
  EXPECT_EQ(complaint(gemm("compute = \"tf32\"\n")),
            "plan.toml:8:11: this task's lane is fp32-strict: compute = \"tf32\" is not allowed");
  EXPECT_EQ(complaint(gemm("compute = \"tf32\"\n"), {.lane = PrecisionLane::tf32_allowed}), "");
  EXPECT_EQ(complaint(gemm("bias = \"x\"\nepilogue = \"bias\"\n")),
            "plan.toml:8:8: a bias has the type of the output and n = 40 elements");
  EXPECT_EQ(complaint(gemm("beta = 1.0\n")),
            "plan.toml:2:8: \"out\" is read before any step has written it");
}

TEST(BindPlanTest, ConvolutionsAgreeWithTheirShapes) {
  const std::string scratch = "[scratch.y]\nshape = [2, 4, 5, 5]\n";
  const std::string conv =
      "[[step]]\nconv = \"y\"\nx = \"image\"\nw = \"filter\"\npadding = [1, 1]\nstride = [2, 2]\n";
  EXPECT_EQ(complaint(scratch + conv + "groups = 2\n" + launch("")), "");
  EXPECT_EQ(complaint(scratch + conv + launch("")),
            "plan.toml:4:8: conv: channels 6 in 1 groups do not match weights [4, 3, 3, 3]");
  EXPECT_EQ(complaint(scratch + conv + "groups = 2\ndilation = [9, 9]\n" + launch("")),
            "plan.toml:4:8: conv: the output is [2, 4, -1, -1], \"y\" is [2, 4, 5, 5]");
  EXPECT_EQ(complaint("[[step]]\nconv = \"out\"\nx = \"x\"\nw = \"weight\"\n"),
            "plan.toml:2:8: conv: x, w and the output have 1 to 3 spatial extents, equally many");
}

TEST(BindPlanTest, ConvolutionsAreNotEmpty) {
  const std::string nothing =
      "[scratch.u]\nshape = [1, 0, 4]\n[scratch.v]\nshape = [3, 0, 2]\n"
      "[scratch.y]\nshape = [1, 3, 3]\n[[step]]\nmemset = \"u\"\n[[step]]\nmemset = \"v\"\n"
      "[[step]]\nconv = \"y\"\nx = \"u\"\nw = \"v\"\n";
  EXPECT_EQ(complaint(nothing + launch("")),
            "plan.toml:12:8: conv: an extent of \"u\", [1, 0, 4], is not from 1 to 2147483647");
}

TEST(BindPlanTest, ReadsNeedAnEarlierWrite) {
  const std::string copy = "[[step]]\ncopy = \"out\"\nfrom = \"t\"\n";
  EXPECT_EQ(complaint(scratch_t + copy),
            "plan.toml:6:8: \"t\" is read before any step has written it");
  EXPECT_EQ(complaint(scratch_t + "[[step]]\nmemset = \"t\"\n" + copy), "");
  EXPECT_EQ(complaint("[[step]]\nmemset = \"x\"\n" + launch("")),
            "plan.toml:2:10: \"x\" is an input and cannot be written");
  EXPECT_EQ(complaint("[[step]]\ncopy = \"out\"\nfrom = \"x\"\n"),
            "plan.toml:1:1: copy: \"x\" has 12672 bytes, \"out\" 15360");
  EXPECT_EQ(complaint(scratch_t + "[[step]]\nmemset = \"t\"\n"),
            "plan.toml:1:1: no step writes the output \"out\"");
}

TEST(BindPlanTest, DoesNotReportConsequencesOfAMistake) {
  const std::string input = "[[step]]\nmemset = \"x\"\n";
  EXPECT_EQ(complaint(input), "plan.toml:2:10: \"x\" is an input and cannot be written");
  EXPECT_EQ(complaint(scratch_t + "[[step]]\nmemset = \"tt\"\n[[step]]\ncopy = \"out\"\n"
                                  "from = \"t\"\n"),
            "plan.toml:5:10: no tensor or scratch \"tt\"; the nearest is \"t\"");
  const std::string unsized =
      "[scratch.t]\nshape = [\"d9\"]\n[[step]]\nmemset = \"t\"\n[[step]]\ngemm = \"out\"\n"
      "a = \"t\"\nb = \"weight\"\nbias = \"t\"\nepilogue = \"bias\"\n"
      "m = \"d0\"\nn = \"d2\"\nk = \"d1\"\n[[step]]\ncopy = \"t\"\nfrom = \"x\"\n"
      "[[step]]\nlaunch = \"k\"\ngrid = [1]\nblock = [1]\n"
      "args = [{tensor_map = \"t\", shape = [8], strides = [], box = [8]}]\n";
  EXPECT_EQ(complaint(unsized), "plan.toml:2:11: unknown symbol \"d9\"; known: d0 d1 d2");
  EXPECT_EQ(complaint("[scratch.u]\nshape = [1, 6, \"d9\"]\n[[step]]\nmemset = \"u\"\n[[step]]\n"
                      "conv = \"u\"\nx = \"u\"\nw = \"u\"\n" +
                      launch("")),
            "plan.toml:2:17: unknown symbol \"d9\"; known: d0 d1 d2");
}

TEST(BindPlanTest, TensorMapsStayWithinTheirBuffers) {
  const auto map = [](const std::string& rest) {
    return std::string("[scratch.t]\nshape = [96, 64]\n") +
           "[[step]]\nlaunch = \"k\"\ngrid = [1]\nblock = [32]\n"
           "args = [\"out\", {tensor_map = \"t\", " +
           rest + "}]\n";
  };
  EXPECT_EQ(complaint(map("shape = [64, 96], strides = [256], box = [32, 8], swizzle = \"128\"")),
            "");
  EXPECT_THAT(complaint(map("shape = [64, 97], strides = [256], box = [32, 8]")),
              testing::HasSubstr("tensor map: it ends at byte 24832 of \"t\", which has 24576"));
  EXPECT_THAT(complaint(map("shape = [64, 96], strides = [], box = [32, 8]")),
              testing::HasSubstr("a shape of 2 extents wants as many in box and one fewer"));
  EXPECT_THAT(complaint(map("shape = [64, 96], strides = [250], box = [32, 8]")),
              testing::HasSubstr("tensor map: expected a stride of whole 16 bytes, got "));
  EXPECT_THAT(complaint(map("shape = [64, 96], strides = [256], box = [33, 8]")),
              testing::HasSubstr("a row of the box is a multiple of 16 bytes"));
  EXPECT_THAT(complaint(map("shape = [64, 96], strides = [256], box = [32, 8], swizzle = \"64\"")),
              testing::HasSubstr("a row of the box is at most as wide as the swizzle"));
}

TEST(BindPlanTest, IsExplained) {
  const std::string text = scratch_t + "[[step]]\nmemset = \"t\"\n" +
                           gemm("trans_b = true\ncompute = \"f32\"\n") +
                           "[[step]]\nlaunch = \"k\"\ngrid = [\"d0\"]\nblock = [32]\nshared = 64\n"
                           "args = [\"out\", \"d1\", {f32 = 0.5}]\n";
  const auto plan = read_plan(text);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const auto bound = bind_variants(*plan, linear(), {});
  ASSERT_TRUE(bound.has_value()) << bound.error().message;
  EXPECT_EQ(explain(*plan, *bound),
            "scratch t f32 [96, 40] 15360 bytes\n"
            "scratch in all 15360 bytes\n"
            "step 1, line 4: memset t to bytes 0\n"
            "step 2, line 6: gemm out = x [96, 33] * weight [40, 33] transposed  m 96 n 40 k 33 "
            "in f32\n"
            "step 3, line 15: launch k grid (96, 1, 1) block (32, 1, 1) shared 64 bytes\n"
            "      args out 33 0.5 (f32)\n");
  CubinFacts typed;
  typed.kernels["k"].parameters = {{0, 8}, {8, 4}, {12, 4}};
  EXPECT_THAT(explain(*plan, *bound, typed),
              testing::EndsWith("\n      args out 33 (i32) 0.5 (f32)\n"));
  typed.kernels["k"].parameters[1].bytes = 8;
  EXPECT_THAT(explain(*plan, *bound, typed), testing::HasSubstr(" 33 (i64) 0.5 (f32)\n"));
  EXPECT_THAT(explain(linear()),
              testing::StartsWith("extents d0 = 96, d1 = 33, d2 = 40\ninput x f32 [96, 33]\n"));
  CubinFacts cubin;
  cubin.kernels["k"] = {
      .registers = 40, .stack_bytes = 8, .shared_bytes = 1024, .max_threads = 128};
  cubin.kernels["spare"] = {.registers = 2};
  EXPECT_EQ(explain_kernels(*bound, cubin),
            "kernel k: 40 registers and 8 bytes of local memory (arrays, spilled registers) a "
            "thread, 1024 bytes of static shared memory a block, at most 128 threads a block\n"
            "kernel spare (not launched): 2 registers and 0 bytes of local memory (arrays, spilled "
            "registers) a thread, 0 bytes of static shared memory a block\n");
}

TEST(BindPlanTest, DamagedPlansAreBoundOrRefused) {
  const std::string good =
      scratch_t + gemm("trans_b = true\n") +
      "[[step]]\nlaunch = \"k\"\ngrid = [\"ceildiv(d0, 8)\"]\nblock = [\"min(d1, 256)\"]\n"
      "args = [\"t\", \"out\", {i64 = \"d0 * d1\"}, {tensor_map = \"t\", shape = [40, 96], strides "
      "= [160], box = [8, 8]}]\n";
  ASSERT_EQ(complaint(good), "");
  RandomStream random(3, "bind");
  int bound = 0;
  for (int i = 0; i < 5000; ++i) bound += bound_of(test::mutate(good, random)) ? 1 : 0;
  EXPECT_GT(bound, 10);
}

}  // namespace
}  // namespace warpsmith::sandbox
