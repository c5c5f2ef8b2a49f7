// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/task_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "sandbox/contract/contract.hpp"
#include "sandbox/reference/description.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

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


def get_init_inputs():
    return [C]
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

TEST(TaskTextTest, ReferenceFileHasImportsAndNoInputs) {
  const auto text = reference_file(code);
  ASSERT_TRUE(text);
  EXPECT_TRUE(
      text->starts_with("import torch\nimport torch.nn as nn\n\n\nR, C = 2, 3\n\n\nclass Model("))
      << *text;
  EXPECT_THAT(*text, HasSubstr("class Other"));
  EXPECT_THAT(*text, EndsWith("        return x * self.w\n\n\ndef get_init_inputs():\n"
                              "    return [C]\n"));
  EXPECT_EQ(text->find("get_inputs"), std::string::npos);
  EXPECT_EQ(text->find("ModelParts"), std::string::npos);
}

TEST(TaskTextTest, BriefPromptLeavesOutArgumentsThatOnlySizeParameters) {
  Task task = sample_task();
  const auto brief = brief_prompt(task, sample_signature(), "cpu");
  ASSERT_TRUE(brief);
  EXPECT_TRUE(brief->starts_with("class Model(nn.Module):\n    \"\"\"Doc")) << *brief;
  EXPECT_THAT(*brief, HasSubstr("        return x * self.w\nin[0] x f32 [2, 3]\n"));
}

TEST(TaskTextTest, BriefPromptHasArgumentsThatDecideMore) {
  Task task;
  task.code = R"py(
import torch
import torch.nn as nn
EPS = 1e-3
SCALE = 0.37
ROWS = 256
class Gate(nn.Module):
    def forward(self, x):
        return x.sigmoid() + EPS
class Model(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.gate, self.scale = Gate(), scale
    def forward(self, x):
        return self.gate(x) * self.scale
def get_inputs():
    return [torch.randn(ROWS, 4)]
def get_init_inputs():
    return [SCALE]
)py";
  const auto brief = brief_prompt(task, sample_signature(), "cpu");
  ASSERT_TRUE(brief);
  for (const char* part : {"EPS = 1e-3", "SCALE = 0.37", "class Gate", "return [SCALE]"}) {
    EXPECT_THAT(*brief, HasSubstr(part));
  }
  EXPECT_THAT(*brief, Not(HasSubstr("ROWS")));
  EXPECT_THAT(full_prompt(task, sample_signature(), {"cpu", ""}, "")->user,
              HasSubstr("SCALE = 0.37"));
}

TEST(TaskTextTest, ConstantArgumentsOfForwardAreShown) {
  TaskSignature signature = sample_signature();
  signature.constants = {{"s", "0.5"}, {"mask", "None"}};
  const std::string lines = "dims 2 3 3 2 3\nalways s = 0.5\nalways mask = None";
  EXPECT_THAT(*brief_prompt(sample_task(), signature, "cpu"), EndsWith(lines));
  EXPECT_THAT(full_prompt(sample_task(), signature, {"cpu", ""}, "")->user,
              HasSubstr(lines + "\n\nWrite"));
  EXPECT_THAT(full_prompt(sample_task(), signature, {"device", ""}, "")->user,
              HasSubstr("(d0, d1)\nalways s = 0.5\nalways mask = None\n\nWrite"));
  const auto json = nlohmann::json::parse(task_json(sample_task(), signature, "cpu"));
  EXPECT_EQ(json["constants"]["s"], "0.5");
}

TEST(TaskTextTest, WithoutToolsTheAnswerHoldsTheFiles) {
  const auto prompt = full_prompt(sample_task(), sample_signature(), {"device", "skill"}, "");
  EXPECT_THAT(prompt->user, HasSubstr("solution/kernels.cu and solution/plan.toml in one answer"));
  EXPECT_THAT(prompt->user, Not(HasSubstr("submit")));
  const auto with = full_prompt(sample_task(), sample_signature(), {"device", "skill"}, "tools");
  EXPECT_THAT(with->user, EndsWith("verify it, make it fast, then submit."));
}

TEST(TaskTextTest, MissingClassIsNamed) {
  Task task = sample_task();
  task.code = "class Modeller:\n    pass\n";
  EXPECT_EQ(brief_prompt(task, {}, "cpu").error().message,
            "task rows: the task has no `class Model`");
}

TEST(TaskTextTest, BuffersAreOneLineEach) {
  const std::string buffers =
      "in[0] x f32 [2, 3]\nin[1] w f32 [3]\nin[2] s i64 []\nout[0] y f32 [2, 3]\n";
  EXPECT_THAT(*brief_prompt(sample_task(), sample_signature(), "cpu"),
              EndsWith(buffers + "dims 2 3 3 2 3"));
  EXPECT_THAT(*brief_prompt(sample_task(), sample_signature(), "device"),
              EndsWith(buffers + "dims 2 3"));
}

TEST(TaskTextTest, EqualExtentsKeepTheirPlaces) {
  TaskSignature square;
  square.tensors = {{"x", TensorRole::input, Dtype::f32, {4, 4}, {}},
                    {"y", TensorRole::output, Dtype::f32, {4}, {}}};
  name_extents(square);
  EXPECT_EQ(values_of(all_extents(square)), (std::vector<int64_t>{4, 4, 4}));
  EXPECT_EQ(distinct_extents(square), (Extents{{"d0", 4}}));
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
  const auto prompt =
      full_prompt(sample_task(), sample_signature(), {"cpu", "# Skill\n"}, "# Tools");
  ASSERT_TRUE(prompt);
  EXPECT_EQ(prompt->system, "# Skill\n\n# Tools");
  EXPECT_THAT(prompt->user, HasSubstr("```python\nimport torch"));
  EXPECT_THAT(prompt->user, HasSubstr("in order:\n\nin[0] x f32 [2, 3]\nin[1] w f32 [3]"));
  EXPECT_THAT(prompt->user,
              EndsWith("dims 2 3 3 2 3\n\nWrite solution/kernel.cpp, verify it, make it "
                       "fast, then submit."));
}

TEST(TaskTextTest, FullPromptOfContractDeviceListsTheNamesForPlans) {
  Task task = sample_task();
  const auto prompt = full_prompt(task, sample_signature(), {"device", "# Skill"}, "# Tools");
  ASSERT_TRUE(prompt);
  EXPECT_EQ(prompt->system, "# Skill\n\n# Tools");
  EXPECT_THAT(prompt->user,
              EndsWith("```\n\nWhat plan.toml may name, in the lane fp32-strict:\n\n"
                       "extents d0 = 2, d1 = 3\ninput x f32 [2, 3] (d0, d1)\n"
                       "parameter w f32 [3] (d1)\ninput s i64 []\noutput y f32 [2, 3] (d0, d1)\n\n"
                       "Write solution/kernels.cu and solution/plan.toml, verify it, make it fast, "
                       "then submit."));
  EXPECT_THAT(prompt->user, Not(HasSubstr("solve")));
  task.lane = PrecisionLane::tf32_allowed;
  EXPECT_THAT(full_prompt(task, sample_signature(), {"device", ""}, "")->user,
              HasSubstr("in the lane tf32-allowed:"));
}

TEST(TaskTextTest, ContractHostNamesItsFilesAndTheTasksOwnRule) {
  Task task = sample_task();
  const auto prompt = full_prompt(task, sample_signature(), {"host", "# Skill"}, "");
  ASSERT_TRUE(prompt);
  EXPECT_THAT(prompt->user, HasSubstr("that ModelNew holds by these names"));
  EXPECT_THAT(prompt->user, HasSubstr("Write solution/model_new.py and what it needs"));
  const auto json = [&] {
    return nlohmann::json::parse(task_json(task, sample_signature(), "host"));
  };
  EXPECT_EQ(json()["lane"], "fp32-strict");
  EXPECT_FALSE(json().contains("custom_kernels_only"));
  task.code += "\ncustom_kernels_only = True\n";
  EXPECT_EQ(json()["custom_kernels_only"], true);
}
TEST(TaskTextTest, TaskJsonOfContractDeviceNamesTheLane) {
  Task task = sample_task();
  const auto read = [&](const char* contract) {
    return nlohmann::json::parse(task_json(task, sample_signature(), contract));
  };
  EXPECT_EQ(read("device")["contract"], "device");
  EXPECT_EQ(read("device")["lane"], "fp32-strict");
  EXPECT_EQ(read("device")["buffers"][1]["symbols"], (std::vector{"d1"}));
  EXPECT_FALSE(read("cpu").contains("lane"));
  task.lane = PrecisionLane::tf32_allowed;
  EXPECT_EQ(read("device")["lane"], "tf32-allowed");
}

TEST(TaskTextTest, MentionsOtherVerifiedSizesWithoutNamingThem) {
  Task task = sample_task();
  task.code += "\ndef get_ragged_inputs():\n    return [torch.randn(8191, 3)]\n";
  for (const char* contract : {"cpu", "device", "host"}) {
    const auto files = workspace_files(task, sample_signature(), {contract, "skill"});
    ASSERT_TRUE(files);
    EXPECT_EQ(nlohmann::json::parse(files->at("task.json"))["other_sizes"], true);
    for (const auto& [name, text] : *files) {
      EXPECT_THAT(text, Not(HasSubstr("8191"))) << name;
      EXPECT_THAT(text, Not(HasSubstr("ragged"))) << name;
    }
    const std::string user = full_prompt(task, sample_signature(), {contract, ""}, "")->user;
    EXPECT_THAT(user, HasSubstr("verified on other sizes of the inputs too"));
    EXPECT_THAT(user, Not(HasSubstr("8191")));
    const std::string plain =
        full_prompt(sample_task(), sample_signature(), {contract, ""}, "")->user;
    EXPECT_THAT(plain, Not(HasSubstr("other sizes")));
  }
  EXPECT_EQ(*brief_prompt(task, sample_signature(), "cpu"),
            *brief_prompt(sample_task(), sample_signature(), "cpu"));
}

TEST(TaskTextTest, WorkspaceStartsWithThreeFiles) {
  const auto files = workspace_files(sample_task(), sample_signature(), {"device", "skill"});
  ASSERT_TRUE(files);
  EXPECT_EQ(files->size(), 3U);
  EXPECT_EQ(files->at("SKILL.md"), "skill");
  EXPECT_EQ(nlohmann::json::parse(files->at("task.json"))["contract"], "device");
}

}  // namespace
}  // namespace warpsmith::sandbox
