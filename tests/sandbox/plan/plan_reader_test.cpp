// SPDX-License-Identifier: Apache-2.0
// Parsing plan.toml: the result, and the places of all errors.
#include "sandbox/plan/plan_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/mutate.hpp"

namespace warpsmith::sandbox {
namespace {

const char* const good = R"toml(
[scratch.partial]
dtype = "f16"
shape = ["d0", "ceildiv(d1, 1024)", 2]

[[variant]]
when = "d1 % 4 == 0"
[[variant.step]]
launch = "rows"
grid = ["d0", 2]
block = [256]
shared = "4 * d1"
cluster = [2]
cooperative = true
args = ["x", "partial", "d1", "d0 * d1", 7, {i64 = "d0"}, {f32 = 0.5},
        {tensor_map = "x", shape = ["d1", "d0"], strides = ["4 * d1"], box = [64, 8], swizzle = "128"}]
[[variant.step]]
gemm = "out"
a = "partial"
b = "weight"
bias = "bias"
m = "d0"
n = "d2"
k = "d1"
trans_b = true
compute = "tf32"
epilogue = "bias_relu"
alpha = 2

[[variant]]
[[variant.step]]
memset = "out"
value = 255
[[variant.step]]
copy = "out"
from = "x"
[[variant.step]]
conv = "out"
x = "x"
w = "weight"
padding = [1, "d0 - 1"]
groups = "d0"
)toml";

std::string complaint(const std::string& text) {
  const auto plan = read_plan(text);
  return plan ? "" : plan.error().message;
}

TEST(PlanReaderTest, ReadsEveryKindOfStep) {
  const auto plan = read_plan(good);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  ASSERT_EQ(plan->scratch.size(), 1U);
  EXPECT_EQ(plan->scratch[0].dtype, Dtype::f16);
  EXPECT_EQ(plan->scratch[0].shape[1].expression.text(), "ceildiv(d1, 1024)");
  ASSERT_EQ(plan->variants.size(), 2U);
  EXPECT_EQ(plan->variants[0].when->expression.text(), "d1 % 4 == 0");
  EXPECT_FALSE(plan->variants[1].when.has_value());
  const auto& launch = std::get<LaunchStep>(plan->variants[0].steps[0].what);
  EXPECT_EQ(launch.kernel.name, "rows");
  EXPECT_TRUE(launch.cooperative);
  ASSERT_EQ(launch.args.size(), 8U);
  EXPECT_EQ(std::get<BufferName>(launch.args[1]).name, "partial");
  EXPECT_EQ(std::get<ScalarArgument>(launch.args[3]).whole.expression.text(), "d0 * d1");
  EXPECT_EQ(std::get<ScalarArgument>(launch.args[5]).type, ScalarType::i64);
  EXPECT_EQ(std::get<ScalarArgument>(launch.args[6]).real, 0.5);
  EXPECT_EQ(std::get<TensorMapArgument>(launch.args[7]).swizzle, Swizzle::b128);
  const auto& gemm = std::get<GemmStep>(plan->variants[0].steps[1].what);
  EXPECT_EQ(gemm.epilogue, Epilogue::bias_relu);
  EXPECT_EQ(gemm.alpha, 2);
  EXPECT_EQ(std::get<MemsetStep>(plan->variants[1].steps[0].what).value, 255);
  EXPECT_EQ(std::get<CopyStep>(plan->variants[1].steps[1].what).from.name, "x");
  EXPECT_EQ(std::get<ConvStep>(plan->variants[1].steps[2].what).padding.size(), 2U);
}

TEST(PlanReaderTest, ErrorsNameLineAndColumn) {
  EXPECT_EQ(complaint("[[step]]\nlaunch = \"k\"\ngrid = [\"d0 +\"]\nblock = [1]\n"),
            "plan.toml:3:14: expected a number, a symbol or \"(\", got the end");
  EXPECT_EQ(complaint("[[step]]\nlaunch = \"k\"\ngrid = []\nblock = [1, 1.5]\n"),
            "plan.toml:3:8: grid: expected 1 to 3 items, got 0\n"
            "plan.toml:4:13: expected a whole number or an expression in quotes, got a number "
            "with a fraction");
  EXPECT_EQ(complaint("[[step]]\nlaunch = 3\ngrid = [1]\nblock = [1]\n"),
            "plan.toml:2:10: launch: expected a name in quotes, got a whole number");
  EXPECT_EQ(complaint("[[step]]\nmemset = \"out\"\nvalu = 3\n"),
            "plan.toml:3:1: a memset step has no \"valu\"; the nearest is \"value\"");
  EXPECT_EQ(complaint("[[step]]\nmemset = \"out\"\nvalue = 256\n"),
            "plan.toml:3:9: value: expected a whole number from 0 to 255, got 256");
  EXPECT_EQ(complaint("[[step]]\nmemset = \"out\"\nvalue = 2.0\n"),
            "plan.toml:3:9: value: expected a whole number from 0 to 255, got 2.0");
  EXPECT_EQ(complaint("[[step]]\ngrid = [1]\n"),
            "plan.toml:1:1: a step has one of launch, gemm, conv, memset, copy");
  EXPECT_EQ(complaint("[[step]]\ncopy = \"out\"\nmemset = \"out\"\n"),
            "plan.toml:1:1: a step is either \"memset\" or \"copy\", not both");
  EXPECT_EQ(complaint("[[step]]\ncopy = \"out\"\n"), "plan.toml:1:1: a copy step lacks \"from\"");
  EXPECT_EQ(complaint("x = \n"),
            "plan.toml:1:5: Error while parsing key-value pair: expected value, saw '\\n'");
}

TEST(PlanReaderTest, WholePlansAreChecked) {
  const std::string step = "[[step]]\ncopy = \"out\"\nfrom = \"x\"\n";
  EXPECT_EQ(complaint(step), "");
  EXPECT_EQ(complaint(""), "plan.toml:1:1: a plan lacks \"step\"");
  EXPECT_EQ(complaint("step = 3"), "plan.toml:1:8: step: expected a list, got a whole number");
  EXPECT_EQ(complaint("step = [3]"), "plan.toml:1:9: step: expected a table, got a whole number");
  EXPECT_EQ(complaint("steps = 3\n" + step),
            "plan.toml:1:1: a plan has no \"steps\"; the nearest is \"step\"");
  EXPECT_EQ(complaint("scratch = 1\n" + step),
            "plan.toml:1:11: scratch: expected at most 32 tables [scratch.NAME]");
  EXPECT_EQ(complaint("[scratch.a]\ndtype = \"float\"\nshape = [1]\n" + step),
            "plan.toml:2:9: dtype: expected \"f32\", \"f64\", \"f16\", \"bf16\", \"i64\", "
            "\"i32\", \"i16\", \"i8\", \"u8\", \"bool\", got \"float\"");
  EXPECT_EQ(complaint(step + "[[variant]]\n[[variant.step]]\nmemset = \"out\"\n"),
            "plan.toml:1:1: a plan has either [[step]] or [[variant]], not both");
  std::string many;
  for (size_t i = 0; i <= plan_steps; ++i) many += step;
  EXPECT_THAT(complaint(many), testing::HasSubstr("step: expected 1 to 64 items, got 65"));
  EXPECT_EQ(complaint(std::string(plan_bytes + 1, '#')), "plan.toml:1:1: longer than 65536 bytes");
  std::string deep = "a";
  for (int i = 0; i < 30'000; ++i) deep += ".a";
  EXPECT_EQ(complaint(step + deep + " = 1"), "plan.toml:4:1: a key with more than 32 dots");
}

/// Finding the nearest name takes the product of both lengths.
TEST(PlanReaderTest, NamesAreBounded) {
  const std::string longest(plan_name_bytes, 'n'), longer = longest + 'n';
  const auto launch = [](const std::string& kernel, const std::string& argument) {
    return "[[step]]\nlaunch = \"" + kernel + "\"\ngrid = [1]\nblock = [1]\nargs = [\"" + argument +
           "\"]\n";
  };
  EXPECT_EQ(complaint(launch(longest, longest)), "");
  EXPECT_EQ(complaint(launch(longer, "x")),
            "plan.toml:2:10: launch: expected a name of at most 512 bytes, got 513");
  EXPECT_EQ(complaint(launch("k", longer)), "plan.toml:5:10: longer than 512 bytes");
  EXPECT_EQ(complaint("[scratch." + longer + "]\nshape = [1]\n" + launch("k", "x")),
            "plan.toml:1:1: scratch: expected a name of at most 512 bytes, got 513");
}

TEST(PlanReaderTest, NamesCannotAddLinesToMessages) {
  EXPECT_EQ(complaint("[[step]]\nmemset = \"out\"\n\"bl\\nok\" = 1\n"),
            "plan.toml:3:1: a memset step has no \"bl\\nok\"; the nearest is \"value\"");
  EXPECT_EQ(complaint("[[step]]\nmemset = \"o\\r\\nut\"\n"),
            "plan.toml:2:10: memset: expected a name without control characters, got "
            "\"o\\r\\nut\"");
  EXPECT_EQ(complaint("[scratch.\"t\\nx\"]\nshape = [1]\n[[step]]\nmemset = \"out\"\n"),
            "plan.toml:1:1: scratch: expected a name without control characters, got \"t\\nx\"");
}

TEST(PlanReaderTest, GemmsAndArgumentsAreChecked) {
  const std::string gemm = "[[step]]\ngemm = \"o\"\na = \"x\"\nb = \"w\"\nm = 1\nn = 1\nk = 1\n";
  EXPECT_EQ(complaint(gemm), "");
  EXPECT_EQ(complaint(gemm + "bias = \"x\"\n"),
            "plan.toml:1:1: \"bias\" wants an epilogue that adds it: \"bias\", \"bias_relu\" or "
            "\"bias_gelu\"");
  EXPECT_EQ(complaint(gemm + "epilogue = \"bias\"\n"),
            "plan.toml:1:1: this epilogue wants a \"bias\"");
  EXPECT_EQ(complaint(gemm + "alpha = nan\n"),
            "plan.toml:8:9: alpha: expected a finite number, got nan");
  EXPECT_EQ(complaint(gemm + "beta = -1e300\n"),
            "plan.toml:8:8: beta: expected a number within a float's range, got -1e+300");
  EXPECT_EQ(complaint(gemm + "alpha = 3.4e38\nbeta = 2\n"), "");
  EXPECT_EQ(complaint(gemm + "bias = \"x\"\nepilogue = \"swish\"\n"),
            "plan.toml:9:12: epilogue: expected \"none\", \"relu\", \"gelu\", \"bias\", "
            "\"bias_relu\", \"bias_gelu\", got \"swish\"")
      << "no error about the bias";
  const std::string launch = "[[step]]\nlaunch = \"k\"\ngrid = [1]\nblock = [1]\nargs = ";
  EXPECT_EQ(complaint(launch + "[{i32 = 1, f32 = 2.0}]\n"),
            "plan.toml:5:9: expected one of i32, i64, f32, f64, tensor_map");
  EXPECT_EQ(complaint(launch + "[true]\n"),
            "plan.toml:5:9: expected a whole number or an expression in quotes, got true or false");
  EXPECT_EQ(complaint(launch + "[{tensor_map = \"x\", shape = [1], box = [1], swizle = \"64\"}]\n"),
            "plan.toml:5:52: a tensor map has no \"swizle\"; the nearest is \"swizzle\"");
}

TEST(PlanReaderTest, NamesOfTensorsInNestedModulesAreNames) {
  const auto name_of_argument = [](const std::string& text) -> std::string {
    const auto plan =
        read_plan("[[step]]\nlaunch = \"k\"\ngrid = [1]\nblock = [1]\nargs = [\"" + text + "\"]\n");
    if (!plan) return plan.error().message;
    const auto& launch = std::get<LaunchStep>(plan->variants[0].steps[0].what);
    const auto* name = std::get_if<BufferName>(launch.args.data());
    return name == nullptr ? "an expression" : name->name;
  };
  EXPECT_EQ(name_of_argument("linear.weight"), "linear.weight");
  EXPECT_EQ(name_of_argument("blocks.0.norm.bias"), "blocks.0.norm.bias");
  EXPECT_EQ(name_of_argument("0.weight"), "0.weight");
  EXPECT_EQ(name_of_argument("2 * d0"), "an expression");
  EXPECT_EQ(name_of_argument("7"), "an expression");
  EXPECT_EQ(name_of_argument("1.5"), "plan.toml:5:11: expected an operator");
  EXPECT_EQ(name_of_argument("w.x + 1"), "plan.toml:5:11: expected an operator");
}

TEST(PlanReaderTest, DamagedPlansGiveAPlanOrMessages) {
  RandomStream random(11, "plan");
  int readable = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = test::mutate(good, random);
    const auto plan = read_plan(text);
    readable += plan ? 1 : 0;
    if (plan) continue;
    ASSERT_EQ(plan.error().message.find("plan.toml:"), 0U) << plan.error().message;
  }
  EXPECT_GT(readable, 100);
}

}  // namespace
}  // namespace warpsmith::sandbox
