// SPDX-License-Identifier: Apache-2.0
// The engine on a CPU against the transformer, and under memory pressure.
#include "policy/generate/cpu/cpu_engine.hpp"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "policy/model/log_probs.hpp"
#include "tests/support/small_models.hpp"

namespace warpsmith::policy {
namespace {

using test::random_tokens;

constexpr PolicyVersion first_version{0, 1};

std::unique_ptr<Engine> make_engine(const Transformer& model, EngineConfig config = {}) {
  auto engine = make_cpu_engine(model.config(), config);
  EXPECT_TRUE(engine) << engine.error().message;
  (*engine)->load(first_version, model.weights());
  return std::move(*engine);
}

EngineRequest request_for(SessionId session, std::vector<int32_t> prompt, int32_t max_tokens) {
  EngineRequest request{.session = session, .whole = true, .new_tokens = std::move(prompt)};
  request.params = {.max_tokens = max_tokens, .seed = 9, .stream = session};
  return request;
}

struct Stream {
  std::vector<int32_t> tokens;
  std::vector<float> log_probs;
  std::vector<PolicyVersion> versions;
  FinishReason finish = FinishReason::none;
};

void gather(const std::vector<EngineOutput>& chunks, std::map<SessionId, Stream>& streams) {
  for (const EngineOutput& chunk : chunks) {
    Stream& s = streams[chunk.session];
    EXPECT_EQ(s.finish, FinishReason::none) << "output after the last one";
    s.tokens.insert(s.tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
    s.log_probs.insert(s.log_probs.end(), chunk.log_probs.begin(), chunk.log_probs.end());
    s.versions.insert(s.versions.end(), chunk.versions.begin(), chunk.versions.end());
    s.finish = chunk.finish;
  }
}

std::map<SessionId, Stream> run(Engine& engine) {
  std::map<SessionId, Stream> streams;
  for (int steps = 0; engine.has_work(); ++steps) {
    if (steps > 10'000) throw std::runtime_error("the engine does not finish");
    gather(engine.step(), streams);
  }
  return streams;
}

/// The log-probabilities that the learner computes for the last `sampled` tokens.
at::Tensor learner_log_probs(const Transformer& model, const std::vector<int32_t>& all,
                             size_t sampled, double temperature = 1.0) {
  const at::NoGradGuard no_grad;
  const std::vector<std::vector<int32_t>> one{all};
  const PackedBatch packed = pack_sequences(one);
  const auto count = static_cast<int64_t>(sampled);
  const int64_t first = packed.tokens.size(0) - count;
  const at::Tensor hidden = model.forward(packed).narrow(0, first - 1, count);
  return token_log_probs(hidden, model.weights().head, packed.tokens.narrow(0, first, count),
                         {.temperature = temperature})
      .log_probs;
}

std::vector<int32_t> joined(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

double worst_gap(const Transformer& model, const std::vector<int32_t>& prompt, const Stream& s,
                 double temperature = 1.0) {
  const at::Tensor expected =
      learner_log_probs(model, joined(prompt, s.tokens), s.tokens.size(), temperature);
  double worst = 0;
  for (size_t i = 0; i < s.tokens.size(); ++i) {
    const double gap = s.log_probs[i] - expected[static_cast<int64_t>(i)].item<double>();
    worst = std::max(worst, std::abs(gap));
  }
  return worst;
}

class CpuEngineFamilyTest : public testing::TestWithParam<Family> {};

TEST_P(CpuEngineFamilyTest, LogProbsAgreeWithTheLearner) {
  const Transformer model = test::small_model(GetParam());
  const auto engine = make_engine(model);
  const std::vector<std::vector<int32_t>> prompts{random_tokens(40, 1), random_tokens(3, 2),
                                                  random_tokens(16, 3)};
  for (size_t i = 0; i < prompts.size(); ++i) {
    ASSERT_TRUE(engine->submit(request_for(i, prompts[i], 60)));
  }
  const auto streams = run(*engine);
  for (size_t i = 0; i < prompts.size(); ++i) {
    ASSERT_EQ(streams.at(i).tokens.size(), 60U);
    EXPECT_EQ(streams.at(i).finish, FinishReason::length);
    EXPECT_LT(worst_gap(model, prompts[i], streams.at(i)), 2e-5) << "sequence " << i;
  }
}

TEST_P(CpuEngineFamilyTest, GreedyTokensAreTheTransformersArgmax) {
  const at::NoGradGuard no_grad;
  const Transformer model = test::small_model(GetParam());
  const auto engine = make_engine(model);
  auto request = request_for(1, random_tokens(9, 4), 30);
  request.params.temperature = 0;
  ASSERT_TRUE(engine->submit(request));
  const auto streams = run(*engine);
  std::vector<int32_t> sequence = request.new_tokens;
  for (const int32_t token : streams.at(1).tokens) {
    const std::vector<std::vector<int32_t>> one{sequence};
    const at::Tensor hidden = model.forward(pack_sequences(one));
    const at::Tensor last = model.logits(hidden.narrow(0, hidden.size(0) - 1, 1));
    ASSERT_EQ(token, last.argmax().item<int64_t>()) << "at position " << sequence.size();
    sequence.push_back(token);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, CpuEngineFamilyTest,
                         testing::Values(Family::llama, Family::qwen2, Family::qwen3),
                         [](const auto& family) { return to_string(family.param); });

class CpuEngineTest : public testing::Test {
 protected:
  Transformer model_ = test::small_model(Family::llama);
};

TEST_F(CpuEngineTest, TemperatureIsPartOfTheLogProb) {
  const auto engine = make_engine(model_);
  auto request = request_for(1, random_tokens(5, 1), 40);
  request.params.temperature = 0.6;
  request.params.top_k = 7;
  request.params.top_p = 0.9;
  ASSERT_TRUE(engine->submit(request));
  EXPECT_LT(worst_gap(model_, request.new_tokens, run(*engine).at(1), 0.6), 2e-5);
}

TEST_F(CpuEngineTest, OtherSequencesInTheBatchDoNotChangeTheResult) {
  const auto alone = make_engine(model_);
  ASSERT_TRUE(alone->submit(request_for(3, random_tokens(21, 1), 50)));
  const Stream expected = run(*alone).at(3);
  const auto crowded = make_engine(model_, {.step_rows = 7});
  for (const SessionId id : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
    const auto prompt = random_tokens(id == 3 ? 21 : 5 + id, id == 3 ? 1 : id);
    ASSERT_TRUE(crowded->submit(request_for(id, prompt, 50)));
  }
  const Stream got = run(*crowded).at(3);
  EXPECT_EQ(got.tokens, expected.tokens);
  EXPECT_EQ(got.log_probs, expected.log_probs);
}

TEST_F(CpuEngineTest, ContinuesASessionAsIfSentWhole) {
  const auto kept = make_engine(model_);
  const auto prompt = random_tokens(12, 1);
  const auto result = random_tokens(9, 2);
  ASSERT_TRUE(kept->submit(request_for(1, prompt, 20)));
  const Stream first = run(*kept).at(1);
  auto next = request_for(1, result, 20);
  next.whole = false;
  ASSERT_TRUE(kept->submit(next));
  const Stream second = run(*kept).at(1);
  const auto fresh = make_engine(model_);
  ASSERT_TRUE(fresh->submit(request_for(1, joined(joined(prompt, first.tokens), result), 20)));
  const Stream whole = run(*fresh).at(1);
  EXPECT_EQ(second.tokens, whole.tokens) << "another engine repeats the work exactly";
  EXPECT_EQ(second.log_probs, whole.log_probs);
}

TEST_F(CpuEngineTest, EqualPromptsAreComputedOnce) {
  const auto engine = make_engine(model_);
  const auto prompt = random_tokens(100, 1);
  for (SessionId id = 1; id <= 8; ++id) ASSERT_TRUE(engine->submit(request_for(id, prompt, 5)));
  const auto streams = run(*engine);
  // 96 of 100 tokens are in whole blocks; seven sequences share those of the first.
  EXPECT_EQ(engine->stats().reused_tokens, 7U * 96U);
  for (const auto& [id, stream] : streams) EXPECT_LT(worst_gap(model_, prompt, stream), 2e-5);
}

TEST_F(CpuEngineTest, WithoutPrefixReuseEveryPromptIsComputed) {
  const std::vector<int32_t> prompt = random_tokens(40, 3);
  std::map<SessionId, Stream> tokens[2];
  for (const bool reuse : {true, false}) {
    const auto engine = make_engine(model_, {.prefix_reuse = reuse});
    for (const SessionId id : {1, 2, 3}) ASSERT_TRUE(engine->submit(request_for(id, prompt, 4)));
    tokens[reuse ? 1 : 0] = run(*engine);
    EXPECT_EQ(engine->stats().reused_tokens > 0, reuse);
  }
  for (const SessionId id : {1, 2, 3}) EXPECT_EQ(tokens[0][id].tokens, tokens[1][id].tokens);
}

TEST_F(CpuEngineTest, OneStepAdvancesAtMostMaxBatch) {
  const auto engine = make_engine(model_, {.max_batch = 2});
  for (const SessionId id : {1, 2, 3, 4, 5}) {
    ASSERT_TRUE(engine->submit(request_for(id, random_tokens(5, static_cast<uint64_t>(id)), 6)));
  }
  std::map<SessionId, Stream> streams;
  for (int steps = 0; engine->has_work() && steps < 1000; ++steps) {
    const auto chunks = engine->step();
    EXPECT_LE(chunks.size(), 2U);
    gather(chunks, streams);
  }
  for (const SessionId id : {1, 2, 3, 4, 5}) EXPECT_EQ(streams[id].tokens.size(), 6U);
}

TEST_F(CpuEngineTest, TinyCacheYieldsTheSameTokens) {
  const auto roomy = make_engine(model_);
  const auto tight =
      make_engine(model_, {.max_session_tokens = 96, .cache_tokens = 160, .step_rows = 16});
  for (SessionId id = 1; id <= 6; ++id) {
    ASSERT_TRUE(roomy->submit(request_for(id, random_tokens(30, id), 40)));
    ASSERT_TRUE(tight->submit(request_for(id, random_tokens(30, id), 40)));
  }
  const auto expected = run(*roomy);
  const auto got = run(*tight);
  for (const auto& [id, stream] : expected) {
    EXPECT_EQ(got.at(id).tokens, stream.tokens);
    EXPECT_EQ(got.at(id).log_probs, stream.log_probs);
  }
  EXPECT_GT(tight->stats().evicted_sequences, 0U);
}

TEST_F(CpuEngineTest, ReleaseFreesEveryBlock) {
  const auto engine = make_engine(model_);
  for (SessionId id = 1; id <= 5; ++id) {
    ASSERT_TRUE(engine->submit(request_for(id, random_tokens(50, id % 2), 30)));
  }
  for (int i = 0; i < 10; ++i) engine->step();
  for (SessionId id = 1; id <= 5; ++id) engine->release(id);
  engine->load({0, 2}, model_.weights());  // forgets the prefixes of the old version
  const EngineStats stats = engine->stats();
  EXPECT_EQ(stats.cached_blocks, 0);
  EXPECT_EQ(stats.sessions, 0);
  EXPECT_FALSE(engine->has_work());
}

TEST_F(CpuEngineTest, LaterTokensHaveTheVersionOfNewWeights) {
  Transformer newer(model_.config(), model_.weights().clone());
  newer.weights().layers[0].down.mul_(1.5);
  const auto engine = make_engine(model_);
  const auto prompt = random_tokens(10, 1);
  ASSERT_TRUE(engine->submit(request_for(1, prompt, 20)));
  std::map<SessionId, Stream> streams;
  for (int i = 0; i < 8; ++i) gather(engine->step(), streams);
  engine->load({0, 2}, newer.weights());
  while (engine->has_work()) gather(engine->step(), streams);
  const Stream& s = streams.at(1);
  ASSERT_EQ(s.versions.size(), 20U);
  EXPECT_EQ(s.versions[7], first_version);
  EXPECT_EQ(s.versions[8], (PolicyVersion{0, 2}));
  const auto all = joined(prompt, s.tokens);
  const at::Tensor before = learner_log_probs(model_, all, 20);
  for (int64_t i = 0; i < 20; ++i) {
    const double gap = s.log_probs[static_cast<size_t>(i)] - before[i].item<double>();
    EXPECT_EQ(std::abs(gap) < 2e-5, i < 8) << i << ": " << gap;
  }
}

TEST_F(CpuEngineTest, ADivergedModelDoesNotAffectLaterSequences) {
  const auto engine = make_engine(model_, {.max_session_tokens = 64, .cache_tokens = 64});
  Transformer broken(model_.config(), model_.weights().clone());
  broken.weights().layers[0].qkv.fill_(NAN);
  engine->load({0, 2}, broken.weights());
  ASSERT_TRUE(engine->submit(request_for(1, random_tokens(40, 1), 20)));
  run(*engine);
  engine->release(1);
  engine->load({0, 3}, model_.weights());
  ASSERT_TRUE(engine->submit(request_for(2, random_tokens(5, 2), 20)));
  EXPECT_LT(worst_gap(model_, random_tokens(5, 2), run(*engine).at(2)), 2e-5);
}

TEST_F(CpuEngineTest, NewWeightsDoNotRecomputeTheCache) {
  const auto engine = make_engine(model_);
  ASSERT_TRUE(engine->submit(request_for(1, random_tokens(40, 1), 10)));
  for (int i = 0; i < 3; ++i) engine->step();
  const uint64_t before = engine->stats().computed_tokens;
  engine->load({1, 5}, model_.weights());
  EXPECT_EQ(run(*engine).at(1).versions.back(), (PolicyVersion{1, 5}));
  EXPECT_EQ(engine->stats().computed_tokens - before, 7U);
}

TEST_F(CpuEngineTest, CacheOfOldWeightsIsNotShared) {
  Transformer newer(model_.config(), model_.weights().clone());
  newer.weights().layers[0].down.mul_(1.5);
  const auto engine = make_engine(model_);
  const auto prompt = random_tokens(40, 1);
  ASSERT_TRUE(engine->submit(request_for(1, prompt, 5)));
  run(*engine);
  engine->load({0, 2}, newer.weights());
  auto more = request_for(1, random_tokens(9, 2), 5);
  more.whole = false;
  ASSERT_TRUE(engine->submit(more));
  run(*engine);
  ASSERT_TRUE(engine->submit(request_for(2, prompt, 20)));
  EXPECT_LT(worst_gap(newer, prompt, run(*engine).at(2)), 2e-5);
  ASSERT_TRUE(engine->submit(request_for(3, prompt, 20)));
  const uint64_t before = engine->stats().reused_tokens;
  EXPECT_LT(worst_gap(newer, prompt, run(*engine).at(3)), 2e-5);
  EXPECT_EQ(engine->stats().reused_tokens - before, 32U) << "blocks of the new weights are shared";
}

TEST_F(CpuEngineTest, StopTokenEndsTheRequestAndIsItsLastToken) {
  const auto engine = make_engine(model_);
  ASSERT_TRUE(engine->submit(request_for(1, random_tokens(5, 1), 30)));
  const Stream free_run = run(*engine).at(1);
  engine->release(1);
  auto request = request_for(1, random_tokens(5, 1), 30);
  request.params.stop_tokens = {free_run.tokens[6]};
  ASSERT_TRUE(engine->submit(request));
  const Stream stopped = run(*engine).at(1);
  EXPECT_EQ(stopped.finish, FinishReason::stop_token);
  EXPECT_EQ(stopped.tokens.back(), free_run.tokens[6]);
  EXPECT_LE(stopped.tokens.size(), 7U);
}

TEST_F(CpuEngineTest, SessionEndsWhenItIsFull) {
  const auto engine = make_engine(model_, {.max_session_tokens = 20, .cache_tokens = 64});
  ASSERT_TRUE(engine->submit(request_for(1, random_tokens(15, 1), 30)));
  const Stream s = run(*engine).at(1);
  EXPECT_EQ(s.finish, FinishReason::context);
  EXPECT_EQ(s.tokens.size(), 5U);
  auto more = request_for(1, {1}, 3);
  more.whole = false;
  EXPECT_EQ(engine->submit(more).error().code, ErrorCode::capacity);
}

TEST_F(CpuEngineTest, RefusalsHaveTheirErrorCode) {
  const auto engine = make_engine(model_, {.max_sessions = 1});
  EXPECT_EQ(engine->submit(request_for(1, {}, 3)).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(engine->submit(request_for(1, {61}, 3)).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(engine->submit(request_for(1, {-1}, 3)).error().code, ErrorCode::invalid_argument);
  auto unknown = request_for(1, {5}, 3);
  unknown.whole = false;
  EXPECT_EQ(engine->submit(unknown).error().code, ErrorCode::not_found);
  ASSERT_TRUE(engine->submit(request_for(1, {5}, 3)));
  EXPECT_EQ(engine->submit(request_for(1, {5}, 3)).error().code, ErrorCode::already_exists);
  EXPECT_EQ(engine->submit(request_for(2, {5}, 3)).error().code, ErrorCode::capacity);
  auto cold = request_for(1, {5}, 3);
  cold.params.temperature = -1;
  EXPECT_EQ(engine->submit(cold).error().code, ErrorCode::invalid_argument);
}

TEST_F(CpuEngineTest, CancelKeepsSampledTokens) {
  const auto engine = make_engine(model_);
  ASSERT_TRUE(engine->submit(request_for(1, random_tokens(5, 1), 30)));
  for (int i = 0; i < 4; ++i) engine->step();
  engine->cancel(1);
  EXPECT_FALSE(engine->has_work());
  EXPECT_EQ(engine->tokens_of(1).size(), 9U);
  auto more = request_for(1, {}, 26);
  more.whole = false;
  ASSERT_TRUE(engine->submit(more));
  const Stream rest = run(*engine).at(1);
  const auto whole = make_engine(model_);
  ASSERT_TRUE(whole->submit(request_for(1, random_tokens(5, 1), 30)));
  const auto expected = run(*whole).at(1).tokens;
  EXPECT_EQ(rest.tokens, (std::vector<int32_t>{expected.begin() + 4, expected.end()}));
}

}  // namespace
}  // namespace warpsmith::policy
