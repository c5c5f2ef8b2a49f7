// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/task_source.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

std::string model_of(const std::string& code) {
  const auto source = TaskSource::parse(code);
  return source ? source->model() : "error: " + source.error().message;
}

const std::string model = "class Model:\n    def forward(self, x):\n        return x * EPS";

TEST(TaskSourceTest, ConstantsComeBeforeTheModelWithWhatTheyNeed) {
  EXPECT_EQ(model_of("A = 2\nB = 3\nEPS = A * 1e-3\n" + model),
            "A = 2\nEPS = A * 1e-3\n\n\n" + model);
}

TEST(TaskSourceTest, ChangesOfNeededNamesAreParts) {
  for (const char* line :
       {"EPS += 1", "EPS[0] = 1", "EPS.x = 1", "EPS.append(1)", "change(EPS)",
        "for EPS in range(3): pass", "with f() as EPS: pass", "if x == 1: EPS = 2", "EPS: int = 4",
        "EPS = (\n1,\n2)", "(EPS, b) = f()"}) {
    const std::string code = std::string(line) + "\n" + model;
    const std::string text = model_of("EPS = 1\n" + code);
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

TEST(TaskSourceTest, OtherNamesAreNotParts) {
  for (const char* line :
       {"OTHER = EPS", "OTHER.append(1)", "def other(): return EPS", "# EPS", "\"\"\"EPS\"\"\"",
        "if __name__ == '__main__': print(EPS)", "print(get_inputs())", "OTHER = (\nEPS,\n)"}) {
    const std::string text = model_of("EPS = 1\nOTHER = []\n" + std::string(line) + "\n" + model);
    EXPECT_EQ(text, "EPS = 1\n\n\n" + model) << line;
  }
}

TEST(TaskSourceTest, SwitchesOfLibrariesAreParts) {
  const std::string code =
      "KIND = torch.float64\ntorch.set_default_dtype(KIND)\ntorch.backends.cudnn.enabled = False";
  EXPECT_EQ(model_of("import torch\n" + code + "\nEPS = 1\n" + model),
            code + "\nEPS = 1\n\n\n" + model);
}

TEST(TaskSourceTest, DecoratorsAndBranchesBelongToTheirStatement) {
  const std::string branches = "if a:\n    EPS = 1\nelse:\n    EPS = 2";
  EXPECT_EQ(model_of(branches + "\n@wrap\n" + model), branches + "\n\n\n@wrap\n" + model);
}

TEST(TaskSourceTest, TheLastDefinitionAndEarlierOnesAreParts) {
  EXPECT_EQ(model_of("class Net:\n    pass\nModel = Net"), "class Net:\n    pass\n\n\nModel = Net");
}

TEST(TaskSourceTest, StringsAndCommentsHideNothing) {
  const std::string odd = "EPS = '\\'#' + r\"\\\" # (\" # ( ) '''\nB = '''\nC = 1\n'''";
  EXPECT_EQ(model_of(odd + "\n" + model), "EPS = '\\'#' + r\"\\\" # (\" # ( ) '''\n\n\n" + model);
}

TEST(TaskSourceTest, NamesInStringsCount) {
  const std::string call = "class Model:\n    def forward(self, x):\n        return f'{EPS}'";
  EXPECT_EQ(model_of("EPS = 1\n" + call), "EPS = 1\n\n\n" + call);
}

bool matters(const std::string& body, const std::string& passed = "[3]") {
  const auto source = TaskSource::parse("class Model:\n" + body +
                                        "\ndef get_init_inputs():\n    return " + passed + "\n");
  return source && source->arguments_matter();
}

TEST(TaskSourceTest, ArgumentsMatterUnlessTheyOnlyMakeParameters) {
  const std::string head = "    def __init__(self, c, *rest, k=1):\n        ";
  EXPECT_FALSE(matters(head + "self.w = nn.Parameter(torch.rand(c, (k + 1)))"));
  EXPECT_TRUE(matters(head + "self.w = nn.Parameter(torch.rand(c)); self.k = k"));
  EXPECT_TRUE(matters(head + "self.w = nn.Parameter(torch.rand(c)) * c"));
  EXPECT_TRUE(matters(head + "self.w = nn.Conv2d(c, c)"));
  EXPECT_TRUE(matters(head + "self.set(rest)"));
  EXPECT_TRUE(matters(head + "vars(self).update(locals())"));
  EXPECT_TRUE(matters("    pass"));
  EXPECT_FALSE(matters("    pass", "[]"));
  EXPECT_FALSE(matters("    pass", "[]  # nothing"));
}

}  // namespace
}  // namespace warpsmith::sandbox
