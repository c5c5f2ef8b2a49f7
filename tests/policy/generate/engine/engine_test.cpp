// SPDX-License-Identifier: Apache-2.0
// Block pool, prefix tree, planning of steps and sampling parameters; and the engine with a backend
// of a few lines, which finishes batches at once or runs ahead.
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <deque>
#include <map>
#include <numeric>

#include "policy/generate/engine/engine.hpp"
#include "policy/generate/engine/kv_blocks.hpp"
#include "policy/generate/engine/sampling.hpp"
#include "policy/generate/engine/session_store.hpp"
#include "policy/model/weights.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::policy {
namespace {

std::vector<int32_t> counting(int32_t first, size_t count) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::vector<BlockId> match(PrefixTree& tree, const std::vector<int32_t>& tokens) {
  PrefixTree::Path path;
  return tree.match(tokens, path);
}

void insert(PrefixTree& tree, const std::vector<int32_t>& tokens, std::vector<BlockId>& blocks) {
  PrefixTree::Path path;
  tree.insert(tokens, blocks, path);
}

TEST(BlockPoolTest, BlockIsFreeWhenItsLastReferenceIsDropped) {
  BlockPool pool(1);
  const BlockId block = pool.take().value();
  EXPECT_FALSE(pool.take());
  pool.share(block);
  pool.drop(block);
  EXPECT_EQ(pool.free_blocks(), 0);
  pool.drop(block);
  EXPECT_EQ(pool.free_blocks(), 1);
  EXPECT_THROW(pool.drop(block), std::logic_error);
  EXPECT_THROW(pool.share(block), std::logic_error);
}

TEST(PrefixTreeTest, MatchesWholeBlocksButNeverTheLastToken) {
  BlockPool pool(8);
  PrefixTree tree(pool);
  std::vector<BlockId> blocks{*pool.take(), *pool.take()};
  const auto tokens = counting(0, 32);
  insert(tree, tokens, blocks);
  EXPECT_EQ(match(tree, tokens), (std::vector<BlockId>{blocks[0]}));
  EXPECT_EQ(match(tree, counting(0, 33)), blocks);
  EXPECT_TRUE(match(tree, counting(1, 33)).empty());
  EXPECT_TRUE(match(tree, counting(0, 16)).empty());
}

TEST(PrefixTreeTest, APathIsExtendedFromItsEnd) {
  BlockPool pool(8);
  PrefixTree tree(pool);
  std::vector<BlockId> blocks{*pool.take(), *pool.take(), *pool.take()};
  const auto tokens = counting(0, 49);
  PrefixTree::Path leader;
  PrefixTree::Path follower;
  tree.insert(tokens, std::span(blocks).first(1), leader);
  EXPECT_EQ(tree.match(tokens, follower), (std::vector<BlockId>{blocks[0]}));
  EXPECT_TRUE(tree.match(tokens, follower).empty());
  tree.insert(tokens, blocks, leader);
  EXPECT_EQ(tree.match(tokens, follower), (std::vector<BlockId>{blocks[1], blocks[2]}));
  EXPECT_EQ(follower.blocks(), 3);
  EXPECT_EQ(follower.end(), leader.end());
}

TEST(PrefixTreeTest, KnownBlockReplacesAnEqualBlock) {
  BlockPool pool(8);
  PrefixTree tree(pool);
  std::vector<BlockId> known{*pool.take()};
  std::vector<BlockId> equal{*pool.take()};
  const BlockId own = equal[0];
  insert(tree, counting(0, 16), known);
  insert(tree, counting(0, 16), equal);
  EXPECT_EQ(equal, known);
  EXPECT_EQ(pool.holders(own), 0);
  EXPECT_EQ(pool.holders(known[0]), 3);
}

TEST(PrefixTreeTest, EqualBlocksUnderDifferentParentsAreDifferent) {
  BlockPool pool(8);
  PrefixTree tree(pool);
  const std::vector<int32_t> zeros(48, 0);
  std::vector<BlockId> blocks{*pool.take(), *pool.take(), *pool.take()};
  insert(tree, zeros, blocks);
  EXPECT_EQ(tree.size(), 3U);
  EXPECT_EQ(match(tree, std::vector<int32_t>(49, 0)), blocks);
}

TEST(PrefixTreeTest, EvictsTheLeastRecentlyUsedFreeLeaf) {
  BlockPool pool(4);
  PrefixTree tree(pool);
  std::vector<BlockId> first{*pool.take(), *pool.take()};
  std::vector<BlockId> second{*pool.take()};
  insert(tree, counting(0, 32), first);
  insert(tree, counting(100, 16), second);
  for (const BlockId block : first) pool.drop(block);
  EXPECT_TRUE(tree.evict_one());
  EXPECT_EQ(pool.holders(first[1]), 0) << "the leaf is evicted before its parent";
  EXPECT_TRUE(tree.evict_one());
  EXPECT_EQ(pool.holders(first[0]), 0);
  EXPECT_FALSE(tree.evict_one()) << "the other entry is still referenced";
}

// A scan of all entries per eviction takes minutes here.
TEST(PrefixTreeTest, CostOfAnEvictionDoesNotGrowWithTheTree) {
  constexpr int32_t entries = 100'000;
  BlockPool pool(entries);
  PrefixTree tree(pool);
  for (int32_t i = 0; i < entries; ++i) {
    std::vector<BlockId> blocks{*pool.take()};
    insert(tree, counting(i, 16), blocks);
    pool.drop(blocks[0]);
  }
  const std::clock_t before = std::clock();
  for (int32_t i = 0; i < entries; ++i) ASSERT_TRUE(tree.evict_one());
  EXPECT_LT(std::clock() - before, 5 * CLOCKS_PER_SEC) << "processor time";
  EXPECT_EQ(pool.free_blocks(), entries);
}

TEST(PrefixTreeTest, RandomUseLeaksNoBlock) {
  BlockPool pool(40);
  RandomStream random(1, "prefix tree");
  {
    PrefixTree tree(pool);
    for (int i = 0; i < 2'000; ++i) {
      const auto tokens =
          counting(static_cast<int32_t>(random.below(4)), 16 * (1 + random.below(3)));
      PrefixTree::Path path;
      std::vector<BlockId> blocks = tree.match(tokens, path);
      while (blocks.size() < tokens.size() / 16) {
        const auto block = pool.take();
        if (block) {
          blocks.push_back(*block);
        } else {
          ASSERT_TRUE(tree.evict_one());
        }
      }
      tree.insert(tokens, blocks, path);
      for (const BlockId block : blocks) pool.drop(block);
      if (random.below(50) == 0) tree.clear();
    }
  }
  EXPECT_EQ(pool.free_blocks(), 40);
}

TEST(PlanStepTest, DecodingPrecedesPrefillAndTheLastPrefillIsCut) {
  const std::vector<PendingSequence> sequences{{1, 1, 20}, {2, 2, 1}, {3, 3, 30}, {4, 4, 1}};
  const auto plan = plan_step(sequences, 30);
  ASSERT_EQ(plan.size(), 4U);
  EXPECT_EQ(plan[0].session, 2U);
  EXPECT_EQ(plan[1].session, 4U);
  EXPECT_EQ(plan[2].session, 1U);
  EXPECT_EQ(plan[2].count, 20);
  EXPECT_EQ(plan[3].session, 3U);
  EXPECT_EQ(plan[3].count, 8);
}

TEST(PlanStepTest, AtLeastOneSequenceAdvances) {
  const std::vector<PendingSequence> sequences{{1, 1, 20}};
  EXPECT_EQ(plan_step(sequences, 0).at(0).count, 1);
}

TEST(PlanStepTest, AtMostTheGivenNumberOfSequencesAdvances) {
  const std::vector<PendingSequence> sequences{{1, 1, 20}, {2, 2, 1}, {3, 3, 1}, {4, 4, 1}};
  const auto plan = plan_step(sequences, 30, 2);
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0].session, 2U);
  EXPECT_EQ(plan[1].session, 3U);
}

TEST(SamplingParamsTest, ImpossibleValuesAreRefused) {
  EXPECT_FALSE(SamplingParams{.temperature = NAN}.validate());
  EXPECT_FALSE(SamplingParams{.top_p = 0}.validate());
  EXPECT_FALSE(SamplingParams{.top_k = -1}.validate());
  EXPECT_FALSE(SamplingParams{.max_tokens = 0}.validate());
  EXPECT_TRUE(SamplingParams{}.validate());
}

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

TEST(EngineTest, BackendThatRunsAheadYieldsTheSameStreams) {
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
