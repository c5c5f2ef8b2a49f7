// SPDX-License-Identifier: Apache-2.0
// The engine on a GPU against the engine on a CPU and the transformer.
#include "policy/generate/cuda/cuda_engine.hpp"

#include <ATen/Context.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <iostream>
#include <limits>

#include "tests/policy/generate/cuda/engine_world.hpp"
#include "tests/support/small_models.hpp"

namespace warpsmith::policy {
namespace {

using test::CudaEngineTest;
using test::random_tokens;
using test::run;
using test::run_all;
using test::Streams;

/// Prompts of very different lengths, some longer than a step's rows.
std::vector<EngineRequest> mixed_requests(uint64_t vocab, bool greedy, int32_t new_tokens) {
  std::vector<EngineRequest> requests;
  for (const size_t length : {1, 15, 16, 17, 100, 333}) {
    auto prompt = random_tokens(length, length, vocab);
    const SessionId id = requests.size();
    requests.push_back(greedy ? test::greedy_request(id, prompt, new_tokens)
                              : test::request_for(id, prompt, new_tokens));
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
    const Streams expected = run_all(*test::cpu_engine(model, small_steps), requests);
    const Streams got = run_all(*test::cuda_engine(model, small_steps, test::fp32), requests);
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
class CudaEngineShapeTest : public CudaEngineTest,
                            public testing::WithParamInterface<test::Shape> {};

TEST_P(CudaEngineShapeTest, Bf16IsNearTheTransformer) {
  const Transformer model = test::rounded_model(GetParam());
  const auto requests = mixed_requests(static_cast<uint64_t>(GetParam().vocab), false, 80);
  for (const bool graphs : {true, false}) {
    const Streams got =
        run_all(*test::cuda_engine(model, small_steps, {.graphs = graphs}), requests);
    double sum = 0;
    for (const EngineRequest& request : requests) {
      sum += test::mean_gap(model, request.new_tokens, got.at(request.session));
    }
    const double mean = sum / static_cast<double>(requests.size());
    EXPECT_LE(mean, 5e-3) << "graphs " << graphs;
    RecordProperty(graphs ? "mean_gap_graphs" : "mean_gap", std::to_string(mean));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudaEngineShapeTest,
                         testing::Values(test::Shape{64, 1}, test::Shape{64, 3}, test::Shape{64, 7},
                                         test::Shape{128, 2}, test::Shape{128, 5},
                                         test::Shape{128, 8}, test::Shape{32, 2}),
                         [](const auto& shape) {
                           return "Heads" + std::to_string(shape.param.head_dim) + "Group" +
                                  std::to_string(shape.param.group);
                         });

TEST_F(CudaEngineTest, GraphsChangeNoToken) {
  const Transformer model = test::small_model(Family::qwen3);
  const auto requests = mixed_requests(61, false, 70);
  auto without = test::fp32;
  without.graphs = false;
  const Streams plain = run_all(*test::cuda_engine(model, small_steps, without), requests);
  const Streams recorded = run_all(*test::cuda_engine(model, small_steps, test::fp32), requests);
  for (const auto& [id, stream] : plain) EXPECT_EQ(recorded.at(id).tokens, stream.tokens);
  EXPECT_LE(mean_difference(plain, recorded), 1e-6);
}

TEST_F(CudaEngineTest, SequencesDoNotDependOnTheirNeighbours) {
  const Transformer model = test::small_model(Family::llama);
  const auto requests = mixed_requests(61, false, 50);
  const Streams together = run_all(*test::cuda_engine(model, small_steps, test::fp32), requests);
  for (const EngineRequest& request : requests) {
    const Streams alone = run_all(*test::cuda_engine(model, small_steps, test::fp32), {request});
    EXPECT_EQ(alone.at(request.session).tokens, together.at(request.session).tokens);
  }
}

constexpr PolicyVersion second_version{0, 2};

/// What the engine samples whose weights become newer ones after 12 steps.
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
  const Streams expected = run_with_newer(*test::cpu_engine(old_model, {}), newer);
  for (const auto& [id, stream] : expected) {
    EXPECT_EQ(stream.versions.back(), second_version);
    EXPECT_EQ(stream.versions.front(), test::first_version);
  }
  if (at::getNumGPUs() < 2) std::cout << "one GPU: weights from a second one are not tested\n";
  for (const at::Device device : learner_devices()) {
    const auto engine = test::cuda_engine(old_model, {}, test::fp32);
    const Streams streams = run_with_newer(*engine, newer.copy_on(device));
    for (const auto& [id, stream] : expected) {
      EXPECT_EQ(streams.at(id).tokens, stream.tokens) << "session " << id << " from " << device;
      EXPECT_EQ(streams.at(id).versions, stream.versions) << "session " << id;
    }
  }
}

TEST_F(CudaEngineTest, EqualBeginningsAreComputedOnce) {
  const Transformer model = test::rounded_model({});
  const auto prompt = random_tokens(200, 1, 997);
  const auto engine = test::cuda_engine(model, {.max_session_tokens = 512});
  const Streams first = run_all(*engine, {test::greedy_request(1, prompt, 20)});
  const Streams second = run_all(*engine, {test::greedy_request(2, prompt, 20)});
  EXPECT_GE(engine->stats().reused_tokens, 192U);
  EXPECT_LE(test::mean_gap(model, prompt, second.at(2)), 5e-3);
  EXPECT_EQ(first.at(1).tokens, second.at(2).tokens);
}

TEST_F(CudaEngineTest, TokensAfterAStopAreDiscarded) {
  const Transformer model = test::small_model(Family::llama);
  auto request = test::request_for(1, random_tokens(20, 1), 200);
  for (int32_t token = 0; token < 20; ++token) request.params.stop_tokens.push_back(token);
  const Streams expected = run_all(*test::cpu_engine(model), {request});
  const Streams got = run_all(*test::cuda_engine(model, {}, test::fp32), {request});
  EXPECT_EQ(got.at(1).finish, FinishReason::stop_token);
  EXPECT_EQ(got.at(1).tokens, expected.at(1).tokens);
}

TEST_F(CudaEngineTest, ContinuesAfterAToolResult) {
  const Transformer model = test::small_model(Family::qwen2);
  const auto cpu = test::cpu_engine(model);
  const auto gpu = test::cuda_engine(model, {}, test::fp32);
  for (Engine* engine : {cpu.get(), gpu.get()}) {
    run_all(*engine, {test::greedy_request(1, random_tokens(30, 1), 20)});
    auto more = test::greedy_request(1, random_tokens(50, 2), 20);
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
    requests.push_back(test::request_for(id, random_tokens(30, id), 50));
  }
  const auto engine = test::cuda_engine(model, tight, test::fp32);
  const Streams got = run_all(*engine, requests);
  EXPECT_GT(engine->stats().evicted_sequences, 0U);
  const Streams roomy = run_all(*test::cpu_engine(model), requests);
  for (const auto& [id, stream] : roomy) EXPECT_EQ(got.at(id).tokens, stream.tokens);
}

TEST_F(CudaEngineTest, RefusesWhatCannotRun) {
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
  const auto engine = test::cuda_engine(model);
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
  const auto engine = test::cuda_engine(test::small_model(Family::llama));
  EXPECT_THROW(engine->load({0, 2}, test::small_model(Family::qwen3).weights()),
               std::invalid_argument);
}

}  // namespace
}  // namespace warpsmith::policy
