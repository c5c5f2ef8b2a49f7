// SPDX-License-Identifier: Apache-2.0
// configs/h200-128k.toml in small, on a CPU: random weights, scripted calls, whole contexts.
#include <gmock/gmock.h>

#include "runtime/run/trajectory_reader.hpp"
#include "tests/commands/train/program_fixture.hpp"

namespace warpsmith::commands {
namespace {

using testing::HasSubstr;

/// The shape of the configuration's model, two layers of it.
constexpr const char* small_shape = R"({"model_type": "qwen3", "vocab_size": 512, "hidden_size": 32,
  "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6,
  "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
  "original_max_position_embeddings": 1024}, "hidden_act": "silu", "attention_bias": false,
  "tie_word_embeddings": true, "initializer_range": 0.02, "eos_token_id": 2})";

class LongRehearsalTest : public ProgramTest {
 protected:
  static constexpr const char* file = "configs/h200-128k.toml";

  void SetUp() override {
    ProgramTest::SetUp();
    if (IsSkipped()) return;
    fs::create_directories(model());
    std::ofstream{model() / "config.json"} << small_shape;
    fs::copy_file("configs/policy/qwen3-1.7b-128k/tokenizer.json", model() / "tokenizer.json");
  }
  fs::path model() const { return runs().parent_path() / "model"; }

  std::vector<std::string> small(std::vector<std::string> more = {}) const {
    for (const char* set :
         {"run.trajectories=4", "agent.max_tokens=4096", "agent.result_tokens=400",
          "generator.device=cpu", "generator.step_rows=512", "generator.cache_tokens=8192",
          "generator.max_new_tokens=32", "learner.device=cpu", "learner.offload=[]",
          "learner.pack_tokens=4096", "sandbox.contract=cpu", "ledger.checkpoint_steps=2"}) {
      more.emplace_back(set);
    }
    more.push_back("run.folder=" + runs().string());
    more.push_back("model.folder=" + model().string());
    more.push_back("synthesis.tasks=[\"configs/tasks/cpu/train/square_mean.py\"]");
    std::vector<std::string> arguments;
    for (const std::string& set : more) arguments.insert(arguments.end(), {"--set", set});
    return arguments;
  }
  std::vector<std::string> train(std::vector<std::string> more) const {
    std::vector<std::string> all{"train", file, "--quiet"};
    const auto sets = small(std::move(more));
    all.insert(all.end(), sets.begin(), sets.end());
    return all;
  }
  /// Every trajectory is trained and as long as its context.
  void expect_whole_contexts(const ChildExit& end) const {
    ASSERT_EQ(end.exit_code, 0) << end.err;
    EXPECT_TRUE(summary()->is_conserved());
    EXPECT_EQ(summary()->trained, 4U);
    EXPECT_EQ(summary()->in_flight, 0U);
    auto reader = TrajectoryReader::open({newest_run()}).value();
    const std::vector<TrajectoryRow> rows = reader.closed().value();
    for (const TrajectoryRow& row : rows) {
      EXPECT_GT(row.tokens, 4096U - 450U);
      EXPECT_LE(row.tokens, 4096U);
      EXPECT_TRUE(row.outcome->truncated);
      EXPECT_GE(row.outcome->tool_calls, 6U);
    }
  }
};

TEST_F(LongRehearsalTest, EveryTrajectoryFillsItsContextAndIsTrained) {
  expect_whole_contexts(run(train({})));
}

TEST_F(LongRehearsalTest, AKeptPrefixThatDoesNotFitIsScoredWhenUsed) {
  expect_whole_contexts(run(train({"learner.max_held=1MiB"})));
}

TEST_F(LongRehearsalTest, APlanIsPrintedAndImpossibleSettingsAreRefused) {
  auto arguments = train({});
  arguments.emplace_back("--dry-run");
  const ChildExit planned = run(arguments);
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("learner"));
  const ChildExit offloading = run({"train", file, "--set", "learner.device=cpu"});
  EXPECT_EQ(offloading.exit_code, 2);
  EXPECT_THAT(offloading.err, HasSubstr("learner.offload: expected [] with learner.device"));
  const ChildExit judged = run({"eval", file, "--training-tasks", "--samples", "1"});
  EXPECT_EQ(judged.exit_code, 2);
  EXPECT_THAT(judged.err, HasSubstr("agent.scripted_turns: expected none in an evaluation"));
}

}  // namespace
}  // namespace warpsmith::commands
