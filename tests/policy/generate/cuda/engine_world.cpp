// SPDX-License-Identifier: Apache-2.0
#include "tests/policy/generate/cuda/engine_world.hpp"

#include <ATen/core/grad_mode.h>

#include "policy/model/log_probs.hpp"
#include "runtime/cuda/driver.hpp"

namespace warpsmith::policy::test {
namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::unique_ptr<Engine> loaded(Result<std::unique_ptr<Engine>> engine, const Transformer& model) {
  if (!engine) throw std::runtime_error(engine.error().message);
  (*engine)->load(first_version, model.weights());
  return std::move(*engine);
}

}  // namespace

void CudaEngineTest::SetUp() {
  const auto driver = warpsmith::cuda::Driver::load();
  if (!driver) GTEST_SKIP() << driver.error().message;
  if (!cuda_engine_is_built()) GTEST_SKIP() << "built without the engine on a GPU";
}

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

EngineRequest greedy_request(SessionId session, std::vector<int32_t> prompt, int32_t max_tokens) {
  EngineRequest request = request_for(session, std::move(prompt), max_tokens);
  request.params.temperature = 0;
  return request;
}

std::unique_ptr<Engine> cpu_engine(const Transformer& model, const EngineConfig& config) {
  return loaded(make_cpu_engine(model.config(), config), model);
}

std::unique_ptr<Engine> cuda_engine(const Transformer& model, const EngineConfig& config,
                                    const CudaEngineOptions& options) {
  return loaded(make_cuda_engine(model.config(), config, options), model);
}

void run(Engine& engine, Streams& streams, int steps) {
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

}  // namespace warpsmith::policy::test
