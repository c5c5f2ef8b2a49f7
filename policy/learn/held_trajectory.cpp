// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/held_trajectory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "runtime/bytes.hpp"
#include "runtime/policy_version.hpp"

namespace warpsmith::policy {
namespace {

std::string name_of(const Segment& segment) {
  return fmt::format("segment {} of trajectory {}", segment.number, segment.trajectory);
}

bool is_log_probability(float x) {
  return std::isfinite(x) && x <= 1e-3F;  // rounding may exceed 0 slightly
}

/// Why PPO cannot use the token's log-probability.
std::string why_unusable(const Segment& s, size_t t) {
  if (s.versions[t] == no_weights) {
    return " has no log-probability: a [brain] gave it; such trajectories serve rft and eval, not "
           "PPO";
  }
  return fmt::format(
      " has log-probability {} under the weights of step {}; expected a finite number of at most 0",
      s.log_probs[t], s.versions[t].step);
}

Result<void> check_tokens(const Segment& s) {
  for (size_t t = 0; t < s.size(); ++t) {
    if (s.tokens[t] < 0) {
      return fail(ErrorCode::parse_failed, fmt::format("{}: token {} is negative", name_of(s), t));
    }
    if (s.action_mask[t] > 1) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("{}: mask of token {} is neither 0 nor 1", name_of(s), t));
    }
    if (s.action_mask[t] == 1 && !is_log_probability(s.log_probs[t])) {
      return fail(ErrorCode::parse_failed,
                  fmt::format("{}: token {}{}", name_of(s), t, why_unusable(s, t)));
    }
  }
  return {};
}

template <class T>
void extend(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

int64_t HeldTrajectory::action_tokens() const {
  return std::count(mask.begin(), mask.end(), uint8_t{1});
}

int64_t HeldTrajectory::useful_length() const {
  const auto last = std::find(mask.rbegin(), mask.rend(), uint8_t{1});
  return static_cast<int64_t>(mask.rend() - last);
}

int64_t HeldTrajectory::prompt_length() const {
  return std::find(mask.begin(), mask.end(), uint8_t{1}) - mask.begin();
}

int64_t HeldTrajectory::bytes() const {
  constexpr size_t per_token = sizeof(int32_t) + 3 * sizeof(float) + 2 + sizeof(PolicyVersion);
  return static_cast<int64_t>(tokens.capacity() * per_token);
}

Result<bool> HeldTrajectory::append(const Segment& segment) {
  if (auto valid = segment.validate(); !valid) return fail(name_of(segment), valid.error());
  if (segment.number < next_segment) return false;
  if (segment.number > next_segment) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: expected number {} first", name_of(segment), next_segment));
  }
  TRY_VOID(check_tokens(segment));
  if (tokens.empty() && !segment.action_mask.empty() && segment.action_mask.front() == 1) {
    return fail(ErrorCode::invalid_argument,
                name_of(segment) + ": a trajectory must begin with a prompt token");
  }
  extend(tokens, segment.tokens);
  extend(mask, segment.action_mask);
  extend(behaviour, segment.log_probs);
  extend(versions, segment.versions);
  proximal.resize(tokens.size(), 0);
  values.resize(tokens.size(), 0);
  same_weights.resize(tokens.size(), 0);
  ++next_segment;
  return true;
}

uint64_t prompt_key(const HeldTrajectory& held) {
  const auto bytes = static_cast<size_t>(held.prompt_length()) * sizeof(int32_t);
  return checksum64({reinterpret_cast<const char*>(held.tokens.data()), bytes});
}

std::vector<int64_t> action_positions(const HeldTrajectory& trajectory, int64_t from) {
  std::vector<int64_t> positions;
  for (int64_t t = from; t < trajectory.size(); ++t) {
    if (trajectory.mask[static_cast<size_t>(t)] == 1) positions.push_back(t);
  }
  return positions;
}

TrainingItem make_item(HeldTrajectory held, Outcome outcome, double reward) {
  TrainingItem item{.held = std::move(held), .outcome = std::move(outcome), .reward = reward};
  item.actions = action_positions(item.held);
  item.lags.resize(item.actions.size(), 0);
  item.trainable.resize(item.actions.size(), 1);
  return item;
}

int64_t mark_stale(TrainingItem& item, PolicyVersion current, const RestoredSteps& restored,
                   int64_t max_lag) {
  int64_t trainable = 0;
  for (size_t i = 0; i < item.actions.size(); ++i) {
    const PolicyVersion sampled = item.held.versions[static_cast<size_t>(item.actions[i])];
    item.lags[i] = lag_between(sampled, current, restored);
    item.trainable[i] = item.lags[i] <= static_cast<uint64_t>(max_lag) ? 1 : 0;
    trainable += item.trainable[i];
  }
  return trainable;
}

void compute_advantages(TrainingItem& item, const AdvantageConfig& config, double divisor) {
  const size_t n = item.actions.size();
  std::vector<double> values(n);
  std::vector<double> rewards(n, 0.0);
  for (size_t i = 0; i < n; ++i) {
    values[i] = double{item.held.values[static_cast<size_t>(item.actions[i])]} + item.baseline;
  }
  if (n > 0) rewards.back() = item.reward;
  const std::vector<uint8_t> mask(n, 1);  // masked tokens would change nothing
  const Advantages gae = masked_gae(config, {mask, rewards, values});
  item.advantages.assign(n, 0);
  item.targets.assign(n, 0);
  for (size_t i = 0; i < n; ++i) {
    item.advantages[i] = static_cast<float>(gae.advantages[i] / divisor);
    item.targets[i] = static_cast<float>(gae.targets[i]);
  }
}

}  // namespace warpsmith::policy
