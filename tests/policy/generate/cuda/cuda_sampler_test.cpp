// SPDX-License-Identifier: Apache-2.0
// The sampler on a GPU: frequencies of tokens against the distribution that the CPU computes.
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <numeric>

#include "policy/generate/cuda/cuda_engine.hpp"
#include "tests/policy/generate/cuda/engine_world.hpp"
#include "tests/support/small_models.hpp"

namespace warpsmith::policy {
namespace {

using test::CudaEngineTest;
using test::random_tokens;
using test::run;

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
  const Transformer model = test::rounded_model({.vocab = 9001});
  const auto prompt = random_tokens(20, 3, 9001);
  const auto engine = test::cuda_engine(
      model,
      {.max_sessions = draws, .max_session_tokens = 64, .cache_tokens = 262'144, .step_rows = 1024},
      test::fp32);
  const std::vector<double> expected = distribution(model, prompt, GetParam().params);
  std::vector<int64_t> counts(expected.size());
  for (SessionId id = 0; id < draws; ++id) {
    EngineRequest request = test::request_for(id, prompt, 1);
    request.params = GetParam().params;
    request.params.max_tokens = 1;
    request.params.stream = id;
    ASSERT_TRUE(engine->submit(request));
  }
  test::Streams streams;
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
