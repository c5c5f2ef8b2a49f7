// SPDX-License-Identifier: Apache-2.0
// The engine with a backend of a few lines, which finishes batches at once or runs ahead.
#include "policy/generate/engine/engine.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "policy/model/weights.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::policy {
namespace {

constexpr int32_t vocabulary = 50;

/// "Keys and values" are tokens by block and slot. A sampled token depends on all tokens of its
/// sequence and on the draw, so that a wrong row or block shows in the stream.
class FakeBackend final : public Backend {
 public:
  FakeBackend(int64_t blocks, bool runs_ahead)
      : cells_(static_cast<size_t>(blocks * block_tokens), -1), runs_ahead_(runs_ahead) {}

  int64_t vocab() const override { return vocabulary; }
  bool runs_ahead() const override { return runs_ahead_; }
  void adopt(const ModelWeights& /*weights*/) override {}

  void start(std::span<const DecodeRow> rows) override {
    ASSERT_FALSE(rows.empty());
    std::vector<SampledToken> samples;
    for (const DecodeRow& row : rows) {
      cell(row, row.position) = token_of(row);
      if (row.sample != nullptr) samples.push_back(sample(row));
    }
    newest_ = samples;
    started_.push_back(std::move(samples));
    EXPECT_LE(started_.size(), runs_ahead_ ? 2U : 1U);
  }

  std::vector<SampledToken> finish() override {
    std::vector<SampledToken> samples = std::move(started_.front());
    started_.pop_front();
    return samples;
  }

 private:
  int32_t& cell(const DecodeRow& row, int32_t position) {
    const auto block = row.blocks[static_cast<size_t>(position / block_tokens)];
    return cells_.at(static_cast<size_t>(block * block_tokens + position % block_tokens));
  }

  int32_t token_of(const DecodeRow& row) const {
    if (row.from_sample < 0) return row.token;
    EXPECT_TRUE(runs_ahead_);
    return newest_.at(static_cast<size_t>(row.from_sample)).token;
  }

  SampledToken sample(const DecodeRow& row) {
    uint64_t mixed = static_cast<uint64_t>(row.uniform * 1e9);
    for (int32_t i = 0; i <= row.position; ++i) {
      mixed = mixed * 31 + static_cast<uint64_t>(cell(row, i));
    }
    return {static_cast<int32_t>(mixed % vocabulary), 0};
  }

  std::vector<int32_t> cells_;
  bool runs_ahead_;
  std::deque<std::vector<SampledToken>> started_;
  std::vector<SampledToken> newest_;
};

std::unique_ptr<Engine> make_engine(bool runs_ahead, const EngineConfig& config) {
  auto engine = Engine::make(std::make_unique<FakeBackend>(config.blocks(), runs_ahead), config);
  EXPECT_TRUE(engine) << engine.error().message;
  (*engine)->load({0, 1}, {});
  return std::move(*engine);
}

std::vector<int32_t> prompt_of(SessionId id, size_t count) {
  RandomStream random(id % 3, "prompt");  // a third of the prompts begin alike
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random.below(vocabulary));
  return tokens;
}

EngineRequest request_for(SessionId id, size_t prompt, int32_t max_tokens) {
  EngineRequest request{.session = id, .whole = true, .new_tokens = prompt_of(id, prompt)};
  request.params = {.max_tokens = max_tokens, .stop_tokens = {7}, .seed = 1, .stream = id};
  return request;
}

struct Stream {
  std::vector<int32_t> tokens;
  FinishReason finish = FinishReason::none;

  bool operator==(const Stream&) const = default;
};
using Streams = std::map<SessionId, Stream>;

void step(Engine& engine, Streams& streams) {
  for (const EngineOutput& output : engine.step()) {
    Stream& stream = streams[output.session];
    EXPECT_EQ(stream.finish, FinishReason::none) << "output after the last one";
    stream.tokens.insert(stream.tokens.end(), output.tokens.begin(), output.tokens.end());
    stream.finish = output.finish;
  }
}

Streams run(Engine& engine) {
  Streams streams;
  for (int steps = 0; engine.has_work() && steps < 10'000; ++steps) step(engine, streams);
  EXPECT_FALSE(engine.has_work());
  return streams;
}

/// Nine sessions, twice each; the second request continues the first.
std::vector<Streams> two_turns(bool runs_ahead, const EngineConfig& config) {
  const auto engine = make_engine(runs_ahead, config);
  for (SessionId id = 0; id < 9; ++id) {
    EXPECT_TRUE(engine->submit(request_for(id, 20 + 5 * id, 30)));
  }
  std::vector<Streams> turns{run(*engine)};
  for (SessionId id = 0; id < 9; ++id) {
    EngineRequest next = request_for(id, 3, 20);
    next.whole = false;
    EXPECT_TRUE(engine->submit(next));
  }
  turns.push_back(run(*engine));
  EXPECT_EQ(engine->stats().evicted_sequences > 0, config.cache_tokens < 1000);
  for (SessionId id = 0; id < 9; ++id) engine->release(id);
  engine->load({0, 2}, {});
  EXPECT_EQ(engine->stats().cached_blocks, 0);
  return turns;
}

constexpr EngineConfig roomy{.max_session_tokens = 160};
constexpr EngineConfig tight{.max_session_tokens = 160, .cache_tokens = 320, .step_rows = 24};

TEST(EngineTest, BackendThatRunsAheadGivesTheSameStreams) {
  const auto expected = two_turns(false, roomy);
  EXPECT_EQ(two_turns(true, roomy), expected);
  size_t stopped = 0;
  for (const auto& [id, stream] : expected[0]) {
    stopped += stream.finish == FinishReason::stop_token ? 1 : 0;
  }
  EXPECT_GT(stopped, 0U);
  EXPECT_LT(stopped, 9U);
}

TEST(EngineTest, EvictionsDoNotChangeTheStreams) {
  const auto expected = two_turns(false, roomy);
  EXPECT_EQ(two_turns(false, tight), expected);
  EXPECT_EQ(two_turns(true, tight), expected);
}

/// Streams of sessions 3, 6, … whose prompts of 310 tokens are equal, submitted `apart` steps
/// apart.
Streams equal_prompts(Engine& engine, int sessions, int apart) {
  Streams streams;
  for (SessionId id = 3; id <= static_cast<SessionId>(3 * sessions); id += 3) {
    EXPECT_TRUE(engine.submit(request_for(id, 310, 5)));
    for (int i = 0; i < apart; ++i) step(engine, streams);
  }
  while (engine.has_work()) step(engine, streams);
  return streams;
}

class EqualPromptsTest : public testing::TestWithParam<bool> {};

// Steps of 50 rows end within blocks, and the last one of a prompt leaves rows for others.
TEST_P(EqualPromptsTest, PromptLongerThanAStepIsComputedOnce) {
  EngineConfig config{.max_session_tokens = 320, .step_rows = 50, .prefix_reuse = false};
  const Streams expected = equal_prompts(*make_engine(GetParam(), config), 4, 0);
  config.prefix_reuse = true;
  for (const int apart : {0, 2}) {
    const auto engine = make_engine(GetParam(), config);
    EXPECT_EQ(equal_prompts(*engine, 4, apart), expected);
    const EngineStats stats = engine->stats();
    EXPECT_EQ(stats.reused_tokens, 3U * 304U) << "19 whole blocks for each follower";
    EXPECT_LE(stats.computed_tokens, 310U + 3U * 6U + 4U * 5U);
  }
}

INSTANTIATE_TEST_SUITE_P(AtOnceAndAhead, EqualPromptsTest, testing::Bool());

TEST(EngineTest, RunsOneBatchAhead) {
  const auto engine = make_engine(true, roomy);
  ASSERT_TRUE(engine->submit(request_for(1, 4, 3)));
  EXPECT_TRUE(engine->step().empty()) << "the first batch still runs";
  EXPECT_EQ(engine->step().size(), 1U);
  EXPECT_EQ(engine->step().size(), 1U);
  EXPECT_EQ(engine->step().size(), 1U) << "no batch is left to start, so the last one finishes";
  EXPECT_FALSE(engine->has_work());
  EXPECT_EQ(engine->stats().computed_tokens, 6U) << "the third sample is not computed further";
}

TEST(EngineTest, CancelDiscardsSamplesInFlight) {
  const auto engine = make_engine(true, roomy);
  ASSERT_TRUE(engine->submit(request_for(1, 20, 30)));
  Streams first;
  for (int i = 0; i < 4; ++i) step(*engine, first);
  ASSERT_EQ(first.at(1).tokens.size(), 3U);
  engine->cancel(1);
  EXPECT_EQ(engine->tokens_of(1).size(), 23U);
  EngineRequest next{.session = 1};
  next.params = request_for(1, 0, 27).params;
  ASSERT_TRUE(engine->submit(next));
  std::vector<int32_t> tokens = first.at(1).tokens;
  const std::vector<int32_t> rest = run(*engine).at(1).tokens;
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  const auto whole = make_engine(false, roomy);
  ASSERT_TRUE(whole->submit(request_for(1, 20, 30)));
  EXPECT_EQ(tokens, run(*whole).at(1).tokens);
}

TEST(EngineTest, TokensInFlightHaveTheVersionThatSampledThem) {
  const auto engine = make_engine(true, roomy);
  ASSERT_TRUE(engine->submit(request_for(1, 4, 10)));
  engine->step();
  engine->load({0, 2}, {});
  EXPECT_EQ(engine->step().at(0).versions, (std::vector<PolicyVersion>{{0, 1}}));
  EXPECT_EQ(engine->step().at(0).versions, (std::vector<PolicyVersion>{{0, 2}}));
}

}  // namespace
}  // namespace warpsmith::policy
