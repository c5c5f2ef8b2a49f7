// SPDX-License-Identifier: Apache-2.0
// Trajectories of a recorded run, filtered and read back as a stage learns from them.
#include "actors/run/selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "actors/ledger/ledger_store.hpp"
#include "policy/text/chat_turns.hpp"
#include "runtime/run/durable_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string written =
    "<tool_call>\n<function=write>\n<parameter=path>\nsolution/kernel.cpp\n</parameter>\n"
    "<parameter=content>\nint a;\n</parameter>\n</function>\n</tool_call>";
const std::string verified = "<tool_call>\n<function=verify>\n</function>\n</tool_call>";
const std::string submitted = "<tool_call>\n<function=submit>\n</function>\n</tool_call>";
const std::string unknown = "<tool_call>\n<function=fly>\n</function>\n</tool_call>";

class SelectionTest : public ::testing::Test {
 protected:
  SelectionTest() : text_(std::move(read_text_model(config()).value())) { make_run("collect"); }

  RunConfig config(const std::vector<std::string>& more = {}) const {
    auto loaded = load_run_config("configs/quickstart.toml", more);
    if (!loaded) throw std::runtime_error(loaded.error().message);
    loaded->run.stage = Stage::rft;
    loaded->sft.context = 1024;
    loaded->rft.runs = {folder_.path() / "collect"};
    loaded->value.runs = loaded->rft.runs;
    return *loaded;
  }
  void make_run(const std::string& name) {
    const RunPaths paths{folder_.path() / name};
    fs::create_directories(paths.segments());
    std::ofstream{paths.config()} << to_toml(config());
    store_.emplace(std::move(LedgerStore::open(paths).value()));
    ASSERT_TRUE(store_->begin(0));
  }
  /// Records a trajectory: the prompt, then a turn of each text and its result.
  TrajectoryId record(const std::vector<std::string>& turns, std::optional<double> reward) {
    const TrajectoryId id =
        store_->admit({.id = "task", .code = "c", .content_hash = "h"}, {1, 0}).value();
    for (uint32_t n = 0; n < turns.size(); ++n) {
      Segment segment{id, n, {}, {}, {}, {}};
      if (n == 0) add(segment, "the task", false);
      add(segment, turns[n] + "<|im_end|>", true);
      if (n + 1 < turns.size()) add(segment, "\nresult", false);
      EXPECT_TRUE(store_->append(segment));
    }
    if (reward) {
      EXPECT_TRUE(store_->close(id, {.reward = *reward}));
    }
    return id;
  }
  void add(Segment& segment, const std::string& text, bool sampled) const {
    for (const int32_t token : text_.tokenizer->encode(text)) {
      segment.tokens.push_back(token);
      segment.action_mask.push_back(sampled ? 1 : 0);
      segment.log_probs.push_back(sampled ? -1.0F : 0.0F);
      segment.versions.push_back(sampled ? PolicyVersion{1, 0} : PolicyVersion{});
    }
  }

  test_support::TemporaryFolder folder_;
  TextModel text_;
  std::optional<LedgerStore> store_;
};

TEST_F(SelectionTest, KeepsGoodTrajectoriesAndCountsTheOthersByReason) {
  const TrajectoryId good = record({written, verified, submitted}, 2);
  const TrajectoryId failed = record({written, submitted}, -1);
  const TrajectoryId looped = record({written, verified, verified, submitted}, 3);
  const TrajectoryId invalid = record({unknown, written, submitted}, 1);
  record({written}, std::nullopt);  // still open: the run is in progress
  const auto selection = select_for_rft(config());
  ASSERT_TRUE(selection) << selection.error().message;
  ASSERT_EQ(selection->size(), 1U);
  EXPECT_THAT(selection->front().kept, ElementsAre(good));
  EXPECT_THAT(selection->front().rejected.at("reward"), ElementsAre(failed));
  EXPECT_THAT(selection->front().rejected.at("repeated_call"), ElementsAre(looped));
  EXPECT_THAT(selection->front().rejected.at("invalid_call"), ElementsAre(invalid));
  EXPECT_EQ(selection_text(*selection),
            "1 kept; rejected: invalid_call 1, repeated_call 1, reward 1");
}

TEST_F(SelectionTest, TheLossIsOnWhatTheModelSampled) {
  record({written, submitted}, 2);
  const RunConfig c = config();
  const auto conversations = conversations_of(*select_for_rft(c), c);
  ASSERT_TRUE(conversations) << conversations.error().message;
  ASSERT_EQ(conversations->size(), 1U);
  const policy::Conversation& one = conversations->front();
  std::vector<int32_t> sampled;
  for (size_t i = 0; i < one.tokens.size(); ++i) {
    if (one.mask[i] == 1) sampled.push_back(one.tokens[i]);
  }
  EXPECT_EQ(text_.tokenizer->decode(sampled), written + "<|im_end|>" + submitted + "<|im_end|>");
}

TEST_F(SelectionTest, AnInvalidTurnCanLoseItsLossAlone) {
  record({unknown, written, submitted}, 1);
  const RunConfig c = config({"rft.invalid_calls=turn"});
  const auto conversations = conversations_of(*select_for_rft(c), c);
  ASSERT_TRUE(conversations) << conversations.error().message;
  const policy::Conversation& one = conversations->front();
  std::vector<int32_t> trained;
  for (size_t i = 0; i < one.tokens.size(); ++i) {
    if (one.mask[i] == 1) trained.push_back(one.tokens[i]);
  }
  EXPECT_EQ(text_.tokenizer->decode(trained), written + "<|im_end|>" + submitted + "<|im_end|>");
}

TEST_F(SelectionTest, AllClosedOnesTrainTheCriticWithTheirRewards) {
  record({written, submitted}, 2);
  record({unknown}, -1);
  record({written}, std::nullopt);
  const RunConfig c = config();
  const auto examples = examples_of(*select_for_value(c), c);
  ASSERT_TRUE(examples) << examples.error().message;
  ASSERT_EQ(examples->size(), 2U);
  EXPECT_EQ((*examples)[0].reward, 2);
  EXPECT_EQ((*examples)[1].reward, -1);
  EXPECT_EQ((*examples)[0].held.next_segment, 2U);
}

TEST_F(SelectionTest, ADamagedRecordIsLeftOut) {
  const TrajectoryId good = record({written, verified, submitted}, 1.0);
  const TrajectoryId damaged = record({written, verified, submitted}, 2.0);
  store_.reset();
  const fs::path segments = RunPaths{folder_.path() / "collect"}.segments();
  const fs::path file = fs::directory_iterator {
    segments
  } -> path();
  std::fstream{file, std::ios::in | std::ios::out | std::ios::ate}
      .seekp(-1, std::ios::end)
      .put('!');
  for (const auto& select : {select_for_rft, select_for_value}) {
    const auto selection = select(config());
    ASSERT_TRUE(selection) << selection.error().message;
    EXPECT_THAT(selection->front().kept, ElementsAre(good));
    EXPECT_THAT(selection->front().rejected.at("unreadable"), ElementsAre(damaged));
  }
}

TEST_F(SelectionTest, NoTrajectoryLeftIsAnErrorWithTheReasons) {
  record({written, submitted}, -1);
  record({written, submitted}, -1);
  const auto selection = select_for_rft(config());
  ASSERT_FALSE(selection);
  EXPECT_EQ(selection.error().code, ErrorCode::invalid_config);
  EXPECT_THAT(selection.error().message, HasSubstr("/collect is left to learn from"));
  EXPECT_THAT(selection.error().message, HasSubstr("0 kept; rejected: reward 2"));
}

TEST_F(SelectionTest, AnotherTokenizerIsRefused) {
  record({written, submitted}, 2);
  const fs::path other = folder_.path() / "other";
  fs::copy("configs/policy/tiny", other);
  std::ofstream{other / "tokenizer.json", std::ios::app} << '\n';
  const auto selection = select_for_rft(config({"model.folder=" + other.string()}));
  ASSERT_FALSE(selection);
  EXPECT_THAT(selection.error().message,
              HasSubstr("/collect: its trajectories have another tokenizer"));
  EXPECT_THAT(selection.error().message, HasSubstr("collect with this model"));
}

TEST_F(SelectionTest, AnotherTemplateOrSyntaxIsRefused) {
  record({written, submitted}, 2);
  const auto syntax = select_for_rft(config({"agent.syntax=hermes"}));
  ASSERT_FALSE(syntax);
  EXPECT_THAT(syntax.error().message, HasSubstr("another agent.syntax"));
}

TEST_F(SelectionTest, MissingRunsAreNamed) {
  RunConfig c = config();
  c.rft.runs = {folder_.path() / "nothing"};
  EXPECT_THAT(select_for_rft(c).error().message, HasSubstr("nothing: no run with trajectories"));
  c.rft.runs.clear();
  EXPECT_THAT(select_for_rft(c).error().message, HasSubstr("rft.runs: expected at least one run"));
}

TEST_F(SelectionTest, ReadsBackToItself) {
  const Selection selection{{"/run", {1, 5}, {{"reward", {2, 3}}}}};
  const auto again = selection_from_json(to_json(selection));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(*again), to_json(selection));
  EXPECT_FALSE(selection_from_json("{\"run\": 1}"));
}

TEST_F(SelectionTest, AResumeLearnsFromTheSameOnesAlthoughThereAreMore) {
  record({written, submitted}, 2);
  const RunConfig c = config();
  const auto first = select_for_rft(c);
  ASSERT_TRUE(first);
  record({written, submitted}, 3);
  EXPECT_EQ(conversations_of(*selection_from_json(to_json(*first)), c)->size(), 1U);
}

}  // namespace
}  // namespace warpsmith::actors
