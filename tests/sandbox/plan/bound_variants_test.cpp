// SPDX-License-Identifier: Apache-2.0
// Plans with several variants: mistakes in each of them, and misfits that other extents might fix.
#include "sandbox/plan/bound_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/plan/explain.hpp"
#include "sandbox/plan/match_kernels.hpp"
#include "sandbox/plan/plan_reader.hpp"
#include "tests/support/mutate.hpp"

namespace warpsmith::sandbox {
namespace {

TensorSpec tensor(const std::string& name, TensorRole role, std::vector<int64_t> shape) {
  return {.name = name, .role = role, .shape = std::move(shape)};
}

TaskSignature signature() {
  return {.tensors = {tensor("x", TensorRole::input, {96, 33}),
                      tensor("weight", TensorRole::parameter, {40, 33}),
                      tensor("out", TensorRole::output, {96, 40})},
          .dim_names = {"d0", "d1", "d2"},
          .dims = {96, 33, 40}};
}

/// A cubin with rows(x, out, int).
CubinFacts cubin() {
  CubinFacts facts{.architecture = 90};
  facts.kernels["rows"] = {.registers = 96,
                           .shared_bytes = 2048,
                           .max_threads = 512,
                           .parameters = {{0, 8}, {8, 8}, {16, 4}}};
  return facts;
}

Result<BoundVariants> bound_of(const Plan& plan) {
  auto bound = bind_variants(plan, signature(), {});
  if (!bound) return bound;
  if (auto matched = match_kernels(plan, *bound, cubin(), {}); !matched) {
    return tl::unexpected(matched.error());
  }
  return bound;
}

/// The first variant is not chosen; its steps begin on line 3.
std::string beside_chosen(const std::string& steps, const std::string& when = "d1 % 4 == 0") {
  return "[[variant]]\nwhen = \"" + when + "\"\n" + steps +
         "[[variant]]\n[[variant.step]]\nmemset = \"out\"\n";
}

std::string launch(const std::string& rest, const std::string& args = "[\"x\", \"out\", \"d0\"]") {
  return "[[variant.step]]\nlaunch = \"rows\"\nargs = " + args + "\n" + rest;
}

/// The errors of a plan; empty if it has none.
std::string complaint(const std::string& text) {
  const auto plan = read_plan(text);
  if (!plan) return plan.error().message;
  const auto bound = bound_of(*plan);
  return bound ? "" : bound.error().message;
}

/// Why the first variant could not be chosen; empty if it could. Requires a plan without mistakes.
std::string misfit(const std::string& text) {
  const auto plan = read_plan(text);
  if (!plan) throw std::runtime_error(plan.error().message);
  const auto bound = bound_of(*plan);
  if (!bound) throw std::runtime_error(bound.error().message);
  return bound->others.at(0).misfits.text();
}

std::string misfit_of(const std::string& steps) {
  return misfit(beside_chosen(steps));
}
std::string mistake_in(const std::string& steps) {
  return complaint(beside_chosen(steps));
}

TEST(BoundVariantsTest, NamesAreLookedUpInEveryVariant) {
  EXPECT_EQ(mistake_in(launch("grid = [1]\nblock = [1]\n")), "");
  EXPECT_EQ(complaint(beside_chosen(launch("grid = [1]\nblock = [1]\n"), "d9 > 1")),
            "plan.toml:2:9: unknown symbol \"d9\"; known: d0 d1 d2");
  EXPECT_EQ(mistake_in(launch("grid = [\"d9\"]\nblock = [1]\n", "[\"x\", \"outt\", \"d0\"]")),
            "plan.toml:5:14: no tensor or scratch \"outt\"; the nearest is \"out\"\n"
            "plan.toml:6:10: unknown symbol \"d9\"; known: d0 d1 d2");
  EXPECT_EQ(mistake_in("[[variant.step]]\nlaunch = \"row\"\ngrid = [1]\nblock = [1]\n"
                       "args = [\"out\"]\n"),
            "plan.toml:4:10: no kernel \"row\" in kernels.cu; the nearest is \"rows\" (declare it "
            "extern \"C\" __global__)");
}

TEST(BoundVariantsTest, ArgumentsAreMatchedInEveryVariant) {
  const std::string rest = "grid = [1]\nblock = [1]\n";
  EXPECT_EQ(mistake_in(launch(rest, "[\"x\", \"out\"]")),
            "plan.toml:4:10: \"rows\" takes 3 arguments, got 2");
  EXPECT_EQ(mistake_in(launch(rest, "[\"x\", \"out\", {i64 = \"d0\"}]")),
            "plan.toml:5:21: argument 3 of \"rows\" is 8 bytes, the parameter 4");
  EXPECT_EQ(mistake_in(launch(rest, "[\"x\", \"out\", 5000000000]")),
            "plan.toml:5:21: argument 3 of \"rows\" is 5000000000, the parameter 4 bytes");
  EXPECT_EQ(misfit_of(launch(rest, "[\"x\", \"out\", \"d0 * 100000000\"]")),
            "plan.toml:5:21: argument 3 of \"rows\" is 9600000000, the parameter 4 bytes");
}

TEST(BoundVariantsTest, AccessesAndLanesAreCheckedInEveryVariant) {
  EXPECT_EQ(mistake_in("[[variant.step]]\nmemset = \"x\"\n"),
            "plan.toml:4:10: \"x\" is an input and cannot be written");
  const std::string gemm =
      "[[variant.step]]\ngemm = \"out\"\na = \"x\"\nb = \"weight\"\nm = \"d0\"\nn = \"d2\"\n"
      "k = \"d1\"\ntrans_b = true\n";
  EXPECT_EQ(mistake_in(gemm), "");
  EXPECT_EQ(mistake_in(gemm + "compute = \"tf32\"\n"),
            "plan.toml:11:11: this task's lane is fp32-strict: compute = \"tf32\" is not allowed");
  EXPECT_EQ(mistake_in(gemm + "beta = 1.0\n"),
            "plan.toml:4:8: \"out\" is read before any step has written it");
  EXPECT_EQ(misfit_of(gemm + "row_a = \"d1 + 1\"\n"),
            "plan.toml:5:5: the product reaches beyond the 3168 elements of \"x\": it needs 3263");
}

TEST(BoundVariantsTest, WritesOfTheChosenVariantDoNotCountInTheOthers) {
  const std::string text =
      "[scratch.t]\nshape = [\"d0\", \"d2\"]\n"
      "[[variant]]\n[[variant.step]]\nmemset = \"t\"\n[[variant.step]]\nmemset = \"out\"\n"
      "[[variant]]\n[[variant.step]]\ncopy = \"out\"\nfrom = \"t\"\n";
  EXPECT_EQ(complaint(text), "plan.toml:11:8: \"t\" is read before any step has written it");
}

TEST(BoundVariantsTest, ErrorsInConstantNumbersAreMistakes) {
  EXPECT_EQ(mistake_in(launch("grid = [\"d0\", 70000]\nblock = [2048]\n")),
            "plan.toml:6:15: grid: expected 1 to 65535, got 70000\n"
            "plan.toml:7:10: block: expected 1 to 1024, got 2048");
  EXPECT_EQ(mistake_in(launch("grid = [1]\nblock = [64, 32]\n")),
            "plan.toml:7:10: block: expected at most 1024 threads, got 2048");
  EXPECT_EQ(mistake_in(launch("grid = [1]\nblock = [1024]\n")),
            "plan.toml:4:10: \"rows\": a block of 1024 threads, its __launch_bounds__ allow 512\n"
            "plan.toml:4:10: \"rows\": 1024 threads of 96 registers do not fit one block's 65536");
  EXPECT_EQ(mistake_in(launch("grid = [\"d0 / (4 - 4)\"]\nblock = [1]\n")),
            "plan.toml:6:13: division by zero");
  EXPECT_EQ(mistake_in(launch("grid = [3]\nblock = [1]\ncluster = [2]\n")),
            "plan.toml:8:12: the grid, 3 x 1 x 1, is no multiple of the cluster, 2 x 1 x 1");
}

TEST(BoundVariantsTest, ErrorsThatOtherExtentsFixAreMisfits) {
  EXPECT_EQ(misfit_of(launch("grid = [\"d0 / (d1 - 33)\"]\nblock = [1]\n")),
            "plan.toml:6:13: division by zero");
  EXPECT_EQ(misfit_of(launch("grid = [1, \"d0 * 1000\"]\nblock = [\"d1 - 33\"]\n")),
            "plan.toml:6:13: grid: expected 1 to 65535, got 96000\n"
            "plan.toml:7:11: block: expected 1 to 1024, got 0");
  EXPECT_EQ(misfit_of(launch("grid = [\"d1\"]\nblock = [1]\ncluster = [2]\n")),
            "plan.toml:8:12: the grid, 33 x 1 x 1, is no multiple of the cluster, 2 x 1 x 1");
  EXPECT_EQ(misfit_of(launch("grid = [1]\nblock = [\"d2\", 20]\n")),
            "plan.toml:4:10: \"rows\": a block of 800 threads, its __launch_bounds__ allow 512\n"
            "plan.toml:4:10: \"rows\": 800 threads of 96 registers do not fit one block's 65536");
  EXPECT_EQ(misfit_of("[[variant.step]]\ncopy = \"out\"\nfrom = \"x\"\n"),
            "plan.toml:3:1: copy: \"x\" has 12672 bytes, \"out\" 15360");
}

TEST(BoundVariantsTest, ReportsMistakesTogetherWithMisfits) {
  EXPECT_EQ(mistake_in(launch("grid = [\"d1 - 33\"]\nblock = [2048]\n")),
            "plan.toml:7:10: block: expected 1 to 1024, got 2048");
}

TEST(BoundVariantsTest, ConditionsAfterTheChosenVariantMayHaveNoValue) {
  const std::string text =
      "[[variant]]\nwhen = \"d0 == 96\"\n[[variant.step]]\nmemset = \"out\"\n"
      "[[variant]]\nwhen = \"4 / (d1 - 33) == 2\"\n[[variant.step]]\nmemset = \"out\"\n";
  EXPECT_EQ(misfit(text), "plan.toml:6:11: division by zero");
}

TEST(BoundVariantsTest, ReportsAConditionWithoutAValueOnceAndNothingElse) {
  EXPECT_EQ(complaint(beside_chosen(launch("grid = [\"d1 - 33\"]\nblock = [1]\n"), "1 / 0")),
            "plan.toml:2:11: division by zero");
  EXPECT_EQ(
      complaint(beside_chosen(launch("grid = [\"d1 - 33\"]\nblock = [1]\n"), "4 / (d1 - 33)")),
      "plan.toml:2:11: division by zero");
}

TEST(BoundVariantsTest, ExplainsEachVariant) {
  const std::string text =
      "[[variant]]\nwhen = \"d1 % 4 == 0\"\n" +
      launch("grid = [\"d1 - 33\"]\nblock = [\"d0 * d0\"]\n") +
      "[[variant]]\nwhen = \"d0 > 90\"\n[[variant.step]]\nmemset = \"out\"\nvalue = 2\n"
      "[[variant]]\n[[variant.step]]\nmemset = \"out\"\n[[variant.step]]\nmemset = \"out\"\n";
  const auto plan = read_plan(text);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const auto bound = bound_of(*plan);
  ASSERT_TRUE(bound.has_value()) << bound.error().message;
  EXPECT_EQ(explain(*plan, *bound),
            "variant 1 of 3, line 1, when d1 % 4 == 0, 1 step: not chosen; would not fit these "
            "extents: plan.toml:6:10: grid: expected 1 to 2147483647, got 0, and more\n"
            "variant 2 of 3, line 8, when d0 > 90, 1 step: carried out\n"
            "variant 3 of 3, line 13, 2 steps: not chosen; would fit these extents\n"
            "step 1, line 10: memset out to bytes 2\n");
  EXPECT_THAT(explain_kernels(*bound, cubin()),
              testing::StartsWith("kernel rows (launched by another variant): 96 registers"));
}

TEST(BoundVariantsTest, DamagedPlansNameAPlaceOrAreBound) {
  const std::string good = beside_chosen(
      launch("grid = [\"d0\", \"ceildiv(d1, 8)\"]\nblock = [\"min(d1, 256)\"]\n") +
      "[[variant.step]]\ngemm = \"out\"\na = \"x\"\nb = \"weight\"\nm = \"d0\"\nn = \"d2\"\n"
      "k = \"d1\"\ntrans_b = true\n");
  ASSERT_EQ(complaint(good), "");
  RandomStream random(9, "variants");
  int bound = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto plan = read_plan(test::mutate(good, random));
    if (!plan) continue;
    const auto made = bound_of(*plan);
    bound += made ? 1 : 0;
    if (made) continue;
    ASSERT_EQ(made.error().message.find("plan.toml:"), 0U) << made.error().message;
  }
  EXPECT_GT(bound, 10);
}

}  // namespace
}  // namespace warpsmith::sandbox
