// SPDX-License-Identifier: Apache-2.0
// The engine on a GPU against the engine on a CPU and the transformer, and its sampler against the
// distribution that the CPU computes.
#include "policy/generate/cuda/cuda_engine.hpp"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "policy/generate/cpu/cpu_engine.hpp"
#include "policy/model/log_probs.hpp"
#include "policy/model/transformer.hpp"
#include "runtime/cuda/driver.hpp"
#include "tests/support/small_models.hpp"

namespace warpsmith::policy {
namespace {

using test::random_tokens;

constexpr PolicyVersion first_version{0, 1};
constexpr CudaEngineOptions fp32{.precision = cuda::Precision::fp32};

struct SampledStream {
  std::vector<int32_t> tokens;
  std::vector<float> log_probs, sampled_log_probs;
  std::vector<PolicyVersion> versions;
  FinishReason finish = FinishReason::none;
};
using Streams = std::map<SessionId, SampledStream>;

/// A case that is skipped without a GPU.
class CudaEngineTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto driver = warpsmith::cuda::Driver::load();
    if (!driver) GTEST_SKIP() << driver.error().message;
    if (!cuda_engine_is_built()) GTEST_SKIP() << "built without the engine on a GPU";
  }
};

/// A Qwen3 model with random weights: heads of `head_dim`, `group` of them for each key head.
struct Shape {
  int64_t head_dim = 64;
  int64_t group = 2;
  int64_t vocab = 997;
};

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::unique_ptr<Engine> loaded(Result<std::unique_ptr<Engine>> engine, const Transformer& model) {
  if (!engine) throw std::runtime_error(engine.error().message);
  (*engine)->load(first_version, model.weights());
  return std::move(*engine);
}

/// Matrices are normal(0, 0.05), norms 0.5 to 1.5, all exact in bf16.
Transformer rounded_model(const Shape& shape) {
  const ModelConfig config{.family = Family::qwen3,
                           .vocab = shape.vocab,
                           .hidden = 128,
                           .layers = 2,
                           .heads = 2 * shape.group,
                           .kv_heads = 2,
                           .head_dim = shape.head_dim,
                           .ffn = 192,
                           .max_positions = 4096,
                           .qk_norm = true,
                           .init_std = 0.05};
  RandomStream random(13, "rounded model");
  ModelWeights weights = make_weights(config, random, at::kFloat);
  for (auto& [name, tensor] : weights.parameters()) {
    if (tensor.dim() == 1) {
      for (int64_t i = 0; i < tensor.numel(); ++i) tensor[i].add_(random.uniform() - 0.5);
    }
    tensor.copy_(tensor.to(at::kBFloat16));
  }
  return {config, std::move(weights)};
}

EngineRequest request_for(SessionId session, std::vector<int32_t> prompt, int32_t max_tokens) {
  EngineRequest request{.session = session, .whole = true, .new_tokens = std::move(prompt)};
  request.params = {.max_tokens = max_tokens, .seed = 9, .stream = session};
  return request;
}

/// The same, greedy.
EngineRequest greedy_request(SessionId session, std::vector<int32_t> prompt, int32_t max_tokens) {
  EngineRequest request = request_for(session, std::move(prompt), max_tokens);
  request.params.temperature = 0;
  return request;
}

std::unique_ptr<Engine> cpu_engine(const Transformer& model, const EngineConfig& config = {}) {
  return loaded(make_cpu_engine(model.config(), config), model);
}

std::unique_ptr<Engine> cuda_engine(const Transformer& model, const EngineConfig& config = {},
                                    const CudaEngineOptions& options = {}) {
  return loaded(make_cuda_engine(model.config(), config, options), model);
}

/// Runs until the engine has no work, or for `steps`.
void run(Engine& engine, Streams& streams, int steps = 100'000) {
  for (int step = 0; step < steps && engine.has_work(); ++step) {
    for (const EngineOutput& chunk : engine.step()) {
      SampledStream& s = streams[chunk.session];
      EXPECT_EQ(s.finish, FinishReason::none) << "output after the last one";
      append(s.tokens, chunk.tokens);
      append(s.log_probs, chunk.log_probs);
      append(s.sampled_log_probs, chunk.sampled_log_probs);
      append(s.versions, chunk.versions);
      s.finish = chunk.finish;
    }
  }
}

Streams run_all(Engine& engine, const std::vector<EngineRequest>& requests) {
  Streams streams;
  for (const EngineRequest& request : requests) {
    if (auto ok = engine.submit(request); !ok) throw std::runtime_error(ok.error().message);
  }
  run(engine, streams);
  return streams;
}

/// The mean difference between sampled log-probs and those that the transformer computes on a CPU.
double mean_gap(const Transformer& model, const std::vector<int32_t>& prompt,
                const SampledStream& sampled) {
  const at::NoGradGuard no_grad;
  std::vector<std::vector<int32_t>> one{prompt};
  append(one.front(), sampled.tokens);
  const PackedBatch packed = pack_sequences(one);
  const auto count = static_cast<int64_t>(sampled.tokens.size());
  const int64_t first = packed.tokens.size(0) - count;
  const at::Tensor expected =
      token_log_probs(model.forward(packed).narrow(0, first - 1, count), model.weights().head,
                      packed.tokens.narrow(0, first, count), {})
          .log_probs;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += std::abs(sampled.log_probs[static_cast<size_t>(i)] - expected[i].item<double>());
  }
  return sum / static_cast<double>(count);
}

/// Prompts of very different lengths, some longer than a step's rows.
std::vector<EngineRequest> mixed_requests(uint64_t vocab, bool greedy, int32_t new_tokens) {
  std::vector<EngineRequest> requests;
  for (const size_t length : {1, 15, 16, 17, 100, 333}) {
    auto prompt = random_tokens(length, length, vocab);
    const SessionId id = requests.size();
    requests.push_back(greedy ? greedy_request(id, prompt, new_tokens)
                              : request_for(id, prompt, new_tokens));
  }
  return requests;
}

constexpr EngineConfig small_steps{.max_session_tokens = 512, .step_rows = 64};

double mean_difference(const Streams& a, const Streams& b) {
  double sum = 0;
  double count = 0;
  for (const auto& [id, stream] : a) {
    const auto& other = b.at(id).log_probs;
    for (size_t i = 0; i < stream.log_probs.size(); ++i) {
      sum += std::abs(stream.log_probs[i] - other.at(i));
      ++count;
    }
  }
  return sum / count;
}

class CudaEngineFamilyTest : public CudaEngineTest, public testing::WithParamInterface<Family> {};

TEST_P(CudaEngineFamilyTest, Float32AgreesWithTheCpu) {
  const Transformer model = test::small_model(GetParam());
  for (const bool greedy : {true, false}) {
    const auto requests = mixed_requests(61, greedy, 60);
    const Streams expected = run_all(*cpu_engine(model, small_steps), requests);
    const Streams got = run_all(*cuda_engine(model, small_steps, fp32), requests);
    for (const auto& [id, stream] : expected) {
      EXPECT_EQ(got.at(id).tokens, stream.tokens) << "greedy " << greedy << ", session " << id;
    }
    EXPECT_LE(mean_difference(expected, got), 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, CudaEngineFamilyTest,
                         testing::Values(Family::llama, Family::qwen2, Family::qwen3),
                         [](const auto& family) { return to_string(family.param); });

/// Heads of 64 and 128 use FlashInfer, 32 does not; groups 1 to 8, of which 5 and 7 have no decode
/// kernel there.
class CudaEngineShapeTest : public CudaEngineTest, public testing::WithParamInterface<Shape> {};

TEST_P(CudaEngineShapeTest, Bf16IsNearTheTransformer) {
  const Transformer model = rounded_model(GetParam());
  const auto requests = mixed_requests(static_cast<uint64_t>(GetParam().vocab), false, 80);
  for (const bool graphs : {true, false}) {
    const Streams got = run_all(*cuda_engine(model, small_steps, {.graphs = graphs}), requests);
    double sum = 0;
    for (const EngineRequest& request : requests) {
      sum += mean_gap(model, request.new_tokens, got.at(request.session));
    }
    const double mean = sum / static_cast<double>(requests.size());
    EXPECT_LE(mean, 5e-3) << "graphs " << graphs;
    RecordProperty(graphs ? "mean_gap_graphs" : "mean_gap", std::to_string(mean));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudaEngineShapeTest,
                         testing::Values(Shape{64, 1}, Shape{64, 3}, Shape{64, 7}, Shape{128, 2},
                                         Shape{128, 5}, Shape{128, 8}, Shape{32, 2}),
                         [](const auto& shape) {
                           return "Heads" + std::to_string(shape.param.head_dim) + "Group" +
                                  std::to_string(shape.param.group);
                         });

TEST_F(CudaEngineTest, GraphsDoNotChangeTheTokens) {
  const Transformer model = test::small_model(Family::qwen3);
  const auto requests = mixed_requests(61, false, 70);
  auto without = fp32;
  without.graphs = false;
  const Streams plain = run_all(*cuda_engine(model, small_steps, without), requests);
  const Streams recorded = run_all(*cuda_engine(model, small_steps, fp32), requests);
  for (const auto& [id, stream] : plain) EXPECT_EQ(recorded.at(id).tokens, stream.tokens);
  EXPECT_LE(mean_difference(plain, recorded), 1e-6);
}

TEST_F(CudaEngineTest, SequencesDoNotDependOnTheirNeighbours) {
  const Transformer model = test::small_model(Family::llama);
  const auto requests = mixed_requests(61, false, 50);
  const Streams together = run_all(*cuda_engine(model, small_steps, fp32), requests);
  for (const EngineRequest& request : requests) {
    const Streams alone = run_all(*cuda_engine(model, small_steps, fp32), {request});
    EXPECT_EQ(alone.at(request.session).tokens, together.at(request.session).tokens);
  }
}

constexpr PolicyVersion second_version{0, 2};

/// The tokens of an engine that gets newer weights after 12 steps.
Streams run_with_newer(Engine& engine, const ModelWeights& newer) {
  for (const EngineRequest& request : mixed_requests(61, true, 40)) {
    EXPECT_TRUE(engine.submit(request));
  }
  Streams streams;
  run(engine, streams, 12);
  engine.load(second_version, newer);
  run(engine, streams);
  return streams;
}

/// Where a learner in this process can have its weights: host, the engine's GPU, another GPU.
std::vector<at::Device> learner_devices() {
  std::vector<at::Device> devices{at::kCPU};
  for (size_t gpu = 0; gpu < std::min<size_t>(2, at::getNumGPUs()); ++gpu) {
    devices.emplace_back(at::kCUDA, static_cast<c10::DeviceIndex>(gpu));
  }
  return devices;
}

TEST_F(CudaEngineTest, NewerWeightsFromAnyDeviceAreUsedFromTheNextTokenOn) {
  const Transformer old_model = test::small_model(Family::qwen3);
  ModelWeights newer = old_model.weights().clone();
  for (auto& [name, tensor] : newer.parameters()) tensor.mul_(1.1);
  const Streams expected = run_with_newer(*cpu_engine(old_model, {}), newer);
  for (const auto& [id, stream] : expected) {
    EXPECT_EQ(stream.versions.back(), second_version);
    EXPECT_EQ(stream.versions.front(), first_version);
  }
  if (at::getNumGPUs() < 2) std::cout << "one GPU: weights from a second one are not tested\n";
  for (const at::Device device : learner_devices()) {
    const auto engine = cuda_engine(old_model, {}, fp32);
    const Streams streams = run_with_newer(*engine, newer.copy_on(device));
    for (const auto& [id, stream] : expected) {
      EXPECT_EQ(streams.at(id).tokens, stream.tokens) << "session " << id << " from " << device;
      EXPECT_EQ(streams.at(id).versions, stream.versions) << "session " << id;
    }
  }
}

TEST_F(CudaEngineTest, EqualBeginningsAreComputedOnce) {
  const Transformer model = rounded_model({});
  const auto prompt = random_tokens(200, 1, 997);
  const auto engine = cuda_engine(model, {.max_session_tokens = 512});
  const Streams first = run_all(*engine, {greedy_request(1, prompt, 20)});
  const Streams second = run_all(*engine, {greedy_request(2, prompt, 20)});
  EXPECT_GE(engine->stats().reused_tokens, 192U);
  EXPECT_LE(mean_gap(model, prompt, second.at(2)), 5e-3);
  EXPECT_EQ(first.at(1).tokens, second.at(2).tokens);
}

TEST_F(CudaEngineTest, TokensAfterAStopAreDiscarded) {
  const Transformer model = test::small_model(Family::llama);
  auto request = request_for(1, random_tokens(20, 1), 200);
  for (int32_t token = 0; token < 20; ++token) request.params.stop_tokens.push_back(token);
  const Streams expected = run_all(*cpu_engine(model), {request});
  const Streams got = run_all(*cuda_engine(model, {}, fp32), {request});
  EXPECT_EQ(got.at(1).finish, FinishReason::stop_token);
  EXPECT_EQ(got.at(1).tokens, expected.at(1).tokens);
}

TEST_F(CudaEngineTest, ContinuesAfterAToolResult) {
  const Transformer model = test::small_model(Family::qwen2);
  const auto cpu = cpu_engine(model);
  const auto gpu = cuda_engine(model, {}, fp32);
  for (Engine* engine : {cpu.get(), gpu.get()}) {
    run_all(*engine, {greedy_request(1, random_tokens(30, 1), 20)});
    auto more = greedy_request(1, random_tokens(50, 2), 20);
    more.whole = false;
    run_all(*engine, {more});
  }
  EXPECT_EQ(cpu->tokens_of(1), gpu->tokens_of(1));
}

TEST_F(CudaEngineTest, EvictedSequencesAreRecomputed) {
  const Transformer model = test::small_model(Family::llama);
  const EngineConfig tight{.max_session_tokens = 96, .cache_tokens = 160, .step_rows = 32};
  std::vector<EngineRequest> requests;
  for (SessionId id = 0; id < 5; ++id) {
    requests.push_back(request_for(id, random_tokens(30, id), 50));
  }
  const auto engine = cuda_engine(model, tight, fp32);
  const Streams got = run_all(*engine, requests);
  EXPECT_GT(engine->stats().evicted_sequences, 0U);
  const Streams roomy = run_all(*cpu_engine(model), requests);
  for (const auto& [id, stream] : roomy) EXPECT_EQ(got.at(id).tokens, stream.tokens);
}

TEST_F(CudaEngineTest, RefusesModelsAndConfigurationsThatCannotRun) {
  const ModelConfig model = test::small_config(Family::llama);
  const auto no_gpu = make_cuda_engine(model, {}, {.gpu = 4711});
  ASSERT_FALSE(no_gpu);
  EXPECT_EQ(no_gpu.error().code, ErrorCode::not_found);
  const auto too_large = make_cuda_engine(model, {.cache_tokens = int64_t{1} << 34});
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, ErrorCode::capacity);
  EXPECT_THAT(too_large.error().message, testing::HasSubstr("lower cache_tokens from"));
}

TEST_F(CudaEngineTest, RefusesWeightsThatAreNotFinite) {
  const Transformer model = test::small_model(Family::llama);
  const auto engine = cuda_engine(model);
  ModelWeights broken = model.weights().clone();
  broken.layers[1].down[3][4] = std::numeric_limits<float>::quiet_NaN();
  try {
    engine->load({0, 2}, broken);
    FAIL() << "the weights were taken";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("layers.1.down: 1 of 960 numbers"));
  }
}

TEST_F(CudaEngineTest, RefusesWeightsOfAnotherShape) {
  const auto engine = cuda_engine(test::small_model(Family::llama));
  EXPECT_THROW(engine->load({0, 2}, test::small_model(Family::qwen3).weights()),
               std::invalid_argument);
}

constexpr int64_t draws = 6000;

/// The probabilities of the token after `prompt`, after temperature, top-k and top-p.
std::vector<double> distribution(const Transformer& model, const std::vector<int32_t>& prompt,
                                 const SamplingParams& params) {
  const at::NoGradGuard no_grad;
  const std::vector<std::vector<int32_t>> one{prompt};
  const at::Tensor hidden = model.forward(pack_sequences(one));
  const at::Tensor logits = model.logits(hidden.narrow(0, hidden.size(0) - 1, 1)).to(at::kDouble);
  const at::Tensor p = (logits / params.temperature).softmax(-1).flatten();
  std::vector<double> kept(p.const_data_ptr<double>(), p.const_data_ptr<double>() + p.numel());
  std::vector<size_t> order(kept.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return kept[a] > kept[b]; });
  const size_t count = params.top_k > 0 ? static_cast<size_t>(params.top_k) : order.size();
  double limit = 0;
  for (size_t i = 0; i < count; ++i) limit += kept[order[i]];
  double sum = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const bool keep = i < count && sum < params.top_p * limit;
    sum += keep ? kept[order[i]] : 0;
    if (!keep) kept[order[i]] = 0;
  }
  for (double& x : kept) x /= sum;
  return kept;
}

/// (chi^2 - degrees) / sqrt(2 degrees) over tokens expected at least five times; the rest is one
/// bin. About standard normal.
double chi_square(const std::vector<double>& p, const std::vector<int64_t>& counts) {
  double sum = 0, rest = 0, rest_count = 0, bins = 0;
  const auto add = [&](double expected, double got) {
    sum += (got - expected) * (got - expected) / expected;
    ++bins;
  };
  for (size_t i = 0; i < p.size(); ++i) {
    const double expected = p[i] * draws;
    if (expected >= 5) {
      add(expected, static_cast<double>(counts[i]));
    } else {
      rest += expected;
      rest_count += static_cast<double>(counts[i]);
    }
  }
  if (rest >= 5) add(rest, rest_count);
  const double degrees = std::max(bins - 1, 1.0);
  return (sum - degrees) / std::sqrt(2 * degrees);
}

struct Sampling {
  const char* name;
  SamplingParams params;
};

class CudaSamplerTest : public CudaEngineTest, public testing::WithParamInterface<Sampling> {};

/// The vocabulary is larger than one block of the sampler covers.
TEST_P(CudaSamplerTest, FrequenciesFollowTheDistribution) {
  const Transformer model = rounded_model({.vocab = 9001});
  const auto prompt = random_tokens(20, 3, 9001);
  const auto engine = cuda_engine(
      model,
      {.max_sessions = draws, .max_session_tokens = 64, .cache_tokens = 262'144, .step_rows = 1024},
      fp32);
  const std::vector<double> expected = distribution(model, prompt, GetParam().params);
  std::vector<int64_t> counts(expected.size());
  for (SessionId id = 0; id < draws; ++id) {
    EngineRequest request = request_for(id, prompt, 1);
    request.params = GetParam().params;
    request.params.max_tokens = 1;
    request.params.stream = id;
    ASSERT_TRUE(engine->submit(request));
  }
  Streams streams;
  run(*engine, streams);
  for (const auto& [id, stream] : streams) {
    const auto token = static_cast<size_t>(stream.tokens.front());
    ++counts[token];
    ASSERT_GT(expected[token], 0) << "token " << token << " is not kept";
    ASSERT_NEAR(stream.sampled_log_probs.front(), std::log(expected[token]), 1e-3);
  }
  EXPECT_LT(chi_square(expected, counts), 4) << "four standard deviations";
}

INSTANTIATE_TEST_SUITE_P(
    Sampling, CudaSamplerTest,
    testing::Values(Sampling{"plain", {}}, Sampling{"warm", {.temperature = 0.7}},
                    Sampling{"top_k", {.top_k = 50}}, Sampling{"top_p", {.top_p = 0.8}},
                    Sampling{"top_k_and_p", {.temperature = 1.3, .top_p = 0.9, .top_k = 200}},
                    Sampling{"one", {.top_k = 1}}, Sampling{"small_p", {.top_p = 1e-6}}),
    [](const auto& sampling) { return sampling.param.name; });

}  // namespace
}  // namespace warpsmith::policy
