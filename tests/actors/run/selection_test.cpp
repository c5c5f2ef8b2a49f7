// SPDX-License-Identifier: Apache-2.0
// Trajectories of a recorded run, filtered and read back as a stage learns from them.
#include "actors/run/selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "policy/text/chat_format.hpp"
#include "runtime/run/durable_file.hpp"
#include "tests/actors/run/recorded_run.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class SelectionTest : public ::testing::Test {
 protected:
  SelectionTest() : run_(RunPaths{folder_.path() / "collect"}, config()) {}

  RunConfig config(const std::vector<std::string>& more = {}) const {
    auto loaded = load_run_config("configs/quickstart.toml", more);
    if (!loaded) throw std::runtime_error(loaded.error().message);
    loaded->run.stage = Stage::rft;
    loaded->sft.context = 1024;
    loaded->rft.runs = {folder_.path() / "collect"};
    loaded->value.runs = loaded->rft.runs;
    return *loaded;
  }
  TrajectoryId record(const std::vector<std::string>& turns, std::optional<double> reward) {
    return run_.record(turns, reward);
  }
  std::string decoded(const std::vector<int32_t>& tokens) const {
    return run_.text().tokenizer->decode(tokens);
  }

  test_support::TemporaryFolder folder_;
  RecordedRun run_;
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

TEST(ThinSelectionTest, LessThanATenthIsWarnedOf) {
  const std::vector<TrajectoryId> ids(277);
  const auto text = [&](size_t kept) {
    return thin_text(
        {{.run = "/c", .kept = std::vector<TrajectoryId>(kept), .rejected = {{"reward", ids}}}});
  };
  EXPECT_THAT(text(11), HasSubstr("only 11 of 288 trajectories are kept"));
  EXPECT_EQ(text(31), "");
}

TEST_F(SelectionTest, TheLossCoversOnlySampledTokens) {
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
  EXPECT_EQ(decoded(sampled), written + "<|im_end|>" + submitted + "<|im_end|>");
}

TEST_F(SelectionTest, AnInvalidTurnCanLoseOnlyItsOwnLoss) {
  record({unknown, written, submitted}, 1);
  const RunConfig c = config({"rft.invalid_calls=turn"});
  const auto conversations = conversations_of(*select_for_rft(c), c);
  ASSERT_TRUE(conversations) << conversations.error().message;
  const policy::Conversation& one = conversations->front();
  std::vector<int32_t> trained;
  for (size_t i = 0; i < one.tokens.size(); ++i) {
    if (one.mask[i] == 1) trained.push_back(one.tokens[i]);
  }
  EXPECT_EQ(decoded(trained), written + "<|im_end|>" + submitted + "<|im_end|>");
}

TEST_F(SelectionTest, AnotherRuleOnResumeDoesNotTrainInvalidTurns) {
  record({unknown, written, submitted}, 1);
  const auto selection = select_for_rft(config({"rft.invalid_calls=turn"}));
  ASSERT_TRUE(selection) << selection.error().message;
  const auto begun = conversations_of(*selection, config({"rft.invalid_calls=turn"}));
  const auto resumed = conversations_of(*selection, config({"rft.invalid_calls=trajectory"}));
  ASSERT_TRUE(begun && resumed);
  EXPECT_EQ(resumed->front().mask, begun->front().mask);
}

TEST_F(SelectionTest, TurnsWithoutLossAreCounted) {
  record({unknown, written, submitted}, 1);
  record({written, unknown, unknown, submitted}, 2);
  record({unknown, submitted}, -1);  // rejected, so it has no turn to count
  const auto selection =
      select_for_rft(config({"rft.invalid_calls=turn", "rft.repeated_calls=true"}));
  ASSERT_TRUE(selection) << selection.error().message;
  EXPECT_EQ(selection_text(*selection), "2 kept; rejected: reward 1; 3 turns without loss");
  EXPECT_EQ(selection_from_json(to_json(*selection))->front().silenced, 3U);
}

TEST_F(SelectionTest, AllClosedTrajectoriesTrainTheCriticWithTheirRewards) {
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
  run_.close();
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

TEST_F(SelectionTest, ALostRecordFileIsAlsoCounted) {
  record({written, verified, submitted}, 1.0);
  record({written, verified, submitted}, 2.0);
  run_.close();
  fs::remove_all(RunPaths{folder_.path() / "collect"}.segments());
  for (const auto& select : {select_for_rft, select_for_value}) {
    const auto selection = select(config());
    ASSERT_FALSE(selection);
    EXPECT_THAT(selection.error().message, HasSubstr("0 kept; rejected: unreadable 2"));
  }
}

TEST_F(SelectionTest, KeepingNoTrajectoryIsAnErrorWithTheReasons) {
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

TEST_F(SelectionTest, ATokenizerThatChangedSinceTheRecordingIsRefused) {
  const fs::path model = folder_.path() / "model";
  fs::copy("configs/policy/tiny", model);
  const RunConfig c = config({"model.folder=" + model.string()});
  RecordedRun run{{folder_.path() / "own"}, c};
  run.record({written, submitted}, 2);
  RunConfig learner = c;
  learner.rft.runs = {folder_.path() / "own"};
  const RunPaths paths{folder_.path() / "own"};
  ASSERT_TRUE(keep_text(paths, model, run.text().frame));
  ASSERT_TRUE(keep_text(paths, model, run.text().frame)) << "a resume finds the same";
  ASSERT_TRUE(select_for_rft(learner));
  std::ofstream{model / "tokenizer.json", std::ios::app} << '\n';  // of both learner and source
  const auto selection = select_for_rft(learner);
  ASSERT_FALSE(selection);
  EXPECT_THAT(selection.error().message, HasSubstr("is no longer what its trajectories were"));
  EXPECT_FALSE(keep_text(paths, model, run.text().frame));
}

TEST_F(SelectionTest, AnotherTemplateOrSyntaxIsRefused) {
  record({written, submitted}, 2);
  TextModel reader = run_.text();
  reader.frame.after = "\n\n";
  const auto text = check_same_text(reader, run_.text(), {folder_.path() / "collect"});
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message,
              HasSubstr("/collect: its trajectories have another chat template"));
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

TEST_F(SelectionTest, ReadsBackUnchanged) {
  const Selection selection{{"/run", {1, 5}, {{"reward", {2, 3}}}}};
  const auto again = selection_from_json(to_json(selection));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(*again), to_json(selection));
  EXPECT_FALSE(selection_from_json("{\"run\": 1}"));
}

TEST_F(SelectionTest, AResumeLearnsFromTheSameTrajectoriesEvenIfThereAreMore) {
  record({written, submitted}, 2);
  const RunConfig c = config();
  const auto first = select_for_rft(c);
  ASSERT_TRUE(first);
  record({written, submitted}, 3);
  EXPECT_EQ(conversations_of(*selection_from_json(to_json(*first)), c)->size(), 1U);
}

}  // namespace
}  // namespace warpsmith::actors
