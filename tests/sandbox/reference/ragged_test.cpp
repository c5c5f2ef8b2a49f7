// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reference/ragged.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/bytes.hpp"
#include "sandbox/reference/description.hpp"

namespace warpsmith::sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Task task_of(const std::string& code) {
  return {.id = "t", .source = "tasks/t.py", .code = code, .content_hash = sha256_hex(code)};
}

const std::string shown_text =
    "import torch\nclass Model:\n    pass\ndef get_inputs():\n    return [1]\n";
const std::string with_ragged =
    shown_text +
    "def get_ragged_inputs():\n    sizes = (301, 77)\n\n    return [2]\n\n\nLAST = 1\n";

TEST(RaggedTest, ATaskWithoutTheFunctionHasNoHiddenShapes) {
  EXPECT_FALSE(ragged_task(task_of(shown_text)));
  EXPECT_FALSE(ragged_task(task_of("# def get_ragged_inputs():\n")));
  EXPECT_FALSE(ragged_task(task_of("class A:\n    def get_ragged_inputs(self):\n        pass\n")));
  EXPECT_FALSE(ragged_task(task_of("def get_ragged_inputs_of(x):\n    pass\n")));
  EXPECT_EQ(shown_task(task_of(shown_text)).code, shown_text);
}

TEST(RaggedTest, TheHiddenTaskIsTheSameTextOnOtherInputs) {
  const Task task = task_of(with_ragged);
  const auto ragged = ragged_task(task);
  ASSERT_TRUE(ragged);
  EXPECT_EQ(ragged->id, "t#ragged");
  EXPECT_TRUE(ragged->code.starts_with(with_ragged));
  EXPECT_TRUE(ragged->code.ends_with("\nget_inputs = get_ragged_inputs\n"));
  EXPECT_EQ(ragged->content_hash, sha256_hex(ragged->code));
}

TEST(RaggedTest, TheShownTaskLacksTheSizesAndKeepsItsLines) {
  const Task shown = shown_task(task_of(with_ragged));
  EXPECT_THAT(shown.code, Not(HasSubstr("301")));
  EXPECT_THAT(shown.code, Not(HasSubstr("ragged")));
  EXPECT_TRUE(shown.code.starts_with(shown_text));
  EXPECT_TRUE(shown.code.ends_with("LAST = 1\n"));
  EXPECT_EQ(std::ranges::count(shown.code, '\n'), std::ranges::count(with_ragged, '\n'));
  EXPECT_FALSE(ragged_task(shown));
}

TaskSignature signature(std::vector<int64_t> x, std::vector<int64_t> w, std::vector<int64_t> y,
                        Dtype dtype = Dtype::f32) {
  TaskSignature s;
  s.tensors = {{.name = "x", .role = TensorRole::input, .dtype = dtype, .shape = std::move(x)},
               {.name = "w", .role = TensorRole::parameter, .shape = std::move(w)},
               {.name = "y", .role = TensorRole::output, .shape = std::move(y)}};
  name_extents(s);
  return s;
}

TEST(RaggedTest, OtherSizesOfInputsAreAccepted) {
  const TaskSignature shown = signature({512, 256}, {256}, {512, 256});
  EXPECT_EQ(ragged_complaint(shown, signature({301, 256}, {256}, {301, 256})), "");
}

TEST(RaggedTest, EachMismatchIsNamed) {
  const TaskSignature shown = signature({512, 256}, {256}, {512, 256});
  const auto why = [&](const TaskSignature& ragged) { return ragged_complaint(shown, ragged); };
  EXPECT_EQ(why(shown), "all sizes are those of get_inputs");
  EXPECT_EQ(why(signature({301, 128}, {128}, {301, 128})),
            "a parameter differs: w [128], by get_inputs w [256]");
  EXPECT_EQ(why(signature({7, 301, 256}, {256}, {301, 256})),
            "ranks differ: x [7, 301, 256], by get_inputs x [512, 256]");
  EXPECT_EQ(why(signature({301, 256}, {256}, {301, 256}, Dtype::f16)), "the type of x differs");
  EXPECT_THAT(why(signature({256, 256}, {256}, {256, 256})),
              HasSubstr("different ones different: x [256, 256]"));
  TaskSignature fewer = shown;
  fewer.tensors.pop_back();
  EXPECT_EQ(why(fewer), "2 tensors, by get_inputs 3");
}

}  // namespace
}  // namespace warpsmith::sandbox
