// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/stages/batch_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>

#include "runtime/random_stream.hpp"

namespace warpsmith::policy {
namespace {

void fill_batches(const std::vector<int64_t>& sizes, std::span<const size_t> order, int64_t limit,
                  std::vector<BatchIndices>& out) {
  BatchIndices batch;
  int64_t tokens = 0;
  for (const size_t i : order) {
    if (!batch.empty() && tokens + sizes[i] > limit) {
      out.push_back(std::move(batch));
      batch.clear();
      tokens = 0;
    }
    batch.push_back(i);
    tokens += sizes[i];
  }
  if (!batch.empty()) out.push_back(std::move(batch));
}

}  // namespace

BatchPlan plan_batches(const std::vector<int64_t>& sizes, const BatchPlanOptions& options) {
  BatchPlan plan;
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  RandomStream split{options.seed, "sft.held_out"};
  shuffle(order, split);
  const auto held = static_cast<std::ptrdiff_t>(
      std::floor(options.held_out_share * static_cast<double>(sizes.size())));
  plan.held_out.assign(order.begin(), order.begin() + held);
  order.erase(order.begin(), order.begin() + held);
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    RandomStream random{options.seed, "sft.order", static_cast<uint64_t>(epoch)};
    std::sort(order.begin(), order.end());
    shuffle(order, random);
    fill_batches(sizes, order, options.batch_tokens, plan.batches);
  }
  return plan;
}

double cosine_share(int64_t step, int64_t steps, int64_t warmup, double floor) {
  if (step < warmup) return static_cast<double>(step + 1) / static_cast<double>(warmup);
  const int64_t span = std::max<int64_t>(steps - 1 - warmup, 1);
  const double way = std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(span));
  return floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * way));
}

}  // namespace warpsmith::policy
