// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/task_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace warpsmith::sandbox {
namespace {

using testing::HasSubstr;

constexpr const char* code = R"py(# SPDX-License-Identifier: Apache-2.0
# Rows.
import torch
import torch.nn as nn

R, C = 2, 3


class ModelParts:
    pass


class Model(nn.Module):
    """Doc with a line at the margin:
class Other
    """

    def __init__(self, c):
        super().__init__()
        self.w = nn.Parameter(torch.rand(c))
# a comment at the margin
    def forward(self, x):
        return x * self.w

    # trailing comment


def get_inputs():
    return [torch.randn(R, C)]
)py";

Task sample_task() {
  Task task;
  task.id = "rows";
  task.code = code;
  return task;
}

TaskSignature sample_signature() {
  TaskSignature signature;
  signature.tensors = {{"x", TensorRole::input, Dtype::f32, {2, 3}, {"d0", "d1"}},
                       {"w", TensorRole::parameter, Dtype::f32, {3}, {"d1"}},
                       {"s", TensorRole::input, Dtype::i64, {}, {}},
                       {"y", TensorRole::output, Dtype::f32, {2, 3}, {"d0", "d1"}}};
  signature.dim_names = {"d0", "d1"};
  signature.dims = {2, 3};
  return signature;
}

TEST(TaskTextTest, ClassEndsWithItsLastStatement) {
  const auto text = reference_class(code);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_TRUE(text->starts_with("class Model(nn.Module):\n    \"\"\"Doc")) << *text;
  EXPECT_TRUE(text->ends_with("        return x * self.w")) << *text;
  EXPECT_THAT(*text, HasSubstr("class Other"));
}

TEST(TaskTextTest, ReferenceFileHasImportsAndNoInputs) {
  const auto text = reference_file(code);
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->starts_with("import torch\nimport torch.nn as nn\n\n\nclass Model("));
  EXPECT_EQ(text->find("get_inputs"), std::string::npos);
}

TEST(TaskTextTest, MissingClassIsNamed) {
  Task task = sample_task();
  task.code = "class Modeller:\n    pass\n";
  EXPECT_EQ(brief_prompt(task, {}).error().message, "task rows: the task has no `class Model`");
}

TEST(TaskTextTest, BuffersAreOneLineEach) {
  EXPECT_EQ(buffer_lines(sample_signature()),
            "in[0] x f32 [2, 3]\nin[1] w f32 [3]\nin[2] s i64 []\nout[0] y f32 [2, 3]\ndims 2 3");
}

TEST(TaskTextTest, TaskJsonListsBuffersInOrder) {
  const auto json = nlohmann::json::parse(task_json(sample_task(), sample_signature(), "cpu"));
  EXPECT_EQ(json["contract"], "cpu");
  ASSERT_EQ(json["buffers"].size(), 4U);
  EXPECT_EQ(json["buffers"][1]["role"], "parameter");
  EXPECT_EQ(json["buffers"][1]["shape"], (std::vector{3}));
  EXPECT_EQ(json["dims"][1]["name"], "d1");
  EXPECT_EQ(json["dims"][1]["value"], 3);
}

TEST(TaskTextTest, FullPromptTeachesAndNamesTheTask) {
  const auto prompt = full_prompt(sample_task(), sample_signature(), "# Skill\n", "# Tools");
  ASSERT_TRUE(prompt);
  EXPECT_EQ(prompt->system, "# Skill\n\n# Tools");
  EXPECT_THAT(prompt->user, HasSubstr("```python\nimport torch"));
  EXPECT_THAT(prompt->user, HasSubstr("in[1] w f32 [3]"));
}

TEST(TaskTextTest, WorkspaceStartsWithThreeFiles) {
  const auto files = workspace_files(sample_task(), sample_signature(), "skill", "cpu");
  ASSERT_TRUE(files);
  EXPECT_EQ(files->size(), 3U);
  EXPECT_EQ(files->at("SKILL.md"), "skill");
}

}  // namespace
}  // namespace warpsmith::sandbox
