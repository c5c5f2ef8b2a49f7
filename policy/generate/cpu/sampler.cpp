// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cpu/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policy/generate/cpu/kernels.hpp"

namespace warpsmith::policy {
namespace {

/// The tokens that top-k and top-p keep, likeliest first.
std::vector<int32_t> kept_tokens(std::span<const float> weights, double total,
                                 const SamplingParams& params) {
  std::vector<int32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t count =
      params.top_k > 0 ? std::min(static_cast<size_t>(params.top_k), order.size()) : order.size();
  const auto likelier = [&](int32_t a, int32_t b) {
    const float wa = weights[static_cast<size_t>(a)];
    const float wb = weights[static_cast<size_t>(b)];
    return wa != wb ? wa > wb : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    likelier);
  order.resize(count);
  double limit = 0;
  for (const int32_t token : order) limit += weights[static_cast<size_t>(token)];
  limit = params.top_k > 0 ? limit : total;  // top-p applies to the tokens that top-k keeps
  double sum = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    sum += weights[static_cast<size_t>(order[i])];
    if (sum >= params.top_p * limit) {
      order.resize(i + 1);
      break;
    }
  }
  return order;
}

double total_of(std::span<const float> weights, std::span<const int32_t> tokens) {
  double total = 0;
  for (const int32_t token : tokens) total += weights[static_cast<size_t>(token)];
  return total;
}

/// The token at `uniform` of the cumulative weights of `tokens`, which sum to `total`.
int32_t pick(std::span<const float> weights, std::span<const int32_t> tokens, double total,
             double uniform) {
  double left = uniform * total;
  for (const int32_t token : tokens) {
    left -= weights[static_cast<size_t>(token)];
    if (left < 0) return token;
  }
  return tokens.back();
}

/// The same over the whole vocabulary, by token id.
int32_t pick_any(std::span<const float> weights, double total, double uniform) {
  double left = uniform * total;
  int32_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    left -= weights[i];
    last = static_cast<int32_t>(i);
    if (left < 0) break;
  }
  return last;
}

}  // namespace

int32_t argmax_token(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

SampledToken sample_token(std::span<const float> logits, const SamplingParams& params,
                          double uniform) {
  const bool greedy = params.temperature == 0;
  const auto scale = static_cast<float>(greedy ? 1.0 : 1.0 / params.temperature);
  std::vector<float> weights(logits.begin(), logits.end());
  const kernels::SoftmaxSums sums = kernels::exponentials(weights, scale);
  SampledToken out;
  double sampled_from = sums.total;
  if (greedy) {
    out.token = argmax_token(logits);
  } else if (params.top_k == 0 && params.top_p >= 1) {
    out.token = pick_any(weights, sums.total, uniform);
  } else {
    const std::vector<int32_t> kept = kept_tokens(weights, sums.total, params);
    sampled_from = total_of(weights, kept);
    out.token = pick(weights, kept, sampled_from, uniform);
  }
  const double below =
      static_cast<double>(logits[static_cast<size_t>(out.token)]) * scale - sums.maximum;
  out.log_prob = static_cast<float>(below - std::log(sums.total));
  out.sampled_log_prob = greedy ? 0.0F : static_cast<float>(below - std::log(sampled_from));
  return out;
}

}  // namespace warpsmith::policy
