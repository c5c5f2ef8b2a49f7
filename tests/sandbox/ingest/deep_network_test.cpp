// SPDX-License-Identifier: Apache-2.0
// Ingest of a network with more parameters than the number of mutants that are tried twice.
#include <gmock/gmock.h>

#include <set>

#include "tests/sandbox/ingest/ingest_fixture.hpp"
#include "tests/sandbox/support/task_texts.hpp"

namespace warpsmith::sandbox::test {
namespace {

/// A sum over 80 parameters, each multiplied by `factor`, an expression of its number i.
std::string network(const std::string& factor) {
  return "import torch\nimport torch.nn as nn\n"
         "class Model(nn.Module):\n"
         "    def __init__(self):\n"
         "        super().__init__()\n"
         "        self.w = nn.ParameterList([torch.randn(64) for _ in range(80)])\n"
         "    def forward(self, x):\n"
         "        return sum(w * torch.sin(x + i) * (" +
         factor +
         ") for i, w in enumerate(self.w))\n"
         "def get_inputs():\n    return [torch.randn(512, 64)]\n"
         "def get_init_inputs():\n    return []\n";
}

class DeepNetworkTest : public IngestTest {};

TEST_F(DeepNetworkTest, IsAcceptedAndCountsItsPhasesWithTheTimeLeft) {
  const Machine machine{.limits = {100, 10, 50}};
  const Task task = task_of("t", network("1.0"));
  std::vector<std::string> lines;
  const auto record = ingest_task({.worker = *worker,
                                   .machine = machine,
                                   .task = task,
                                   .settings = {},
                                   .progress = [&](const auto& line) { lines.push_back(line); }},
                                  Deadline::after(seconds(300)));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "");
  std::set<std::string> states;
  for (const std::string& line : lines) {
    const bool counts = line.starts_with("t: checking: ") &&
                        (line.ends_with(" left") || line.starts_with("t: checking: 1 of 14"));
    const bool early = line == "t: loading" || line == "t: torch.compile";
    EXPECT_TRUE(counts || early) << line;
    states.insert(line.substr(0, line.find(", about ")));
  }
  EXPECT_EQ(states.size(), lines.size()) << "a state was reported twice";
}

TEST_F(DeepNetworkTest, AParameterWithoutEffectIsNoWrongAnswer) {
  const auto record = ingest_code(network("i != 71"));
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->refusal, "");
  EXPECT_EQ(record->facts.insensitive, "");
}

}  // namespace
}  // namespace warpsmith::sandbox::test
