// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/step_report.hpp"

#include <array>

#include "policy/learn/reward.hpp"

namespace warpsmith::policy {
namespace {

bool is_faster(const std::optional<double>& speedup) {
  return speedup && clearly_faster(*speedup);
}

void add_outcomes(const OutcomeStatistics& o, std::map<std::string, double>& out) {
  out["reward"] = o.reward_mean;
  out["pass_rate"] = o.pass_rate;
  out["faster_eager"] = o.faster_eager;
  out["faster_compile"] = o.faster_compile;
  out["truncated"] = o.truncated;
  out["turns"] = o.turns_mean;
  out["tool_calls"] = o.tool_calls_mean;
  out["action_tokens"] = o.action_tokens_mean;
  for (const auto& [name, count] : o.verdicts) out["verdict." + name] = static_cast<double>(count);
}

void add_tokens(const RatioStatistics& t, std::map<std::string, double>& out) {
  static constexpr std::array<const char*, 7> names{"min", "p01", "p05", "p50",
                                                    "p95", "p99", "max"};
  for (size_t i = 0; i < names.size(); ++i) {
    out[std::string("ratio_") + names[i]] = t.ratio_quantiles[i];
  }
  out["tokens"] = static_cast<double>(t.tokens);
  out["stale_tokens"] = static_cast<double>(t.stale_tokens);
  out["filtered_tokens"] = static_cast<double>(t.filtered_tokens);
  out["unlikely_ratio"] = t.unlikely_ratio;
  out["effective_sample_size"] = t.effective_sample_size;
  out["k3"] = t.k3;
  out["proximal_k3"] = t.proximal_k3;
  out["clip_fraction"] = t.clip_fraction;
  out["lag_mean"] = t.mean_lag;
  for (const auto& [age, bin] : t.by_age) {
    out["lag_" + std::to_string(age)] = static_cast<double>(bin.tokens);
    out["clip_age_" + std::to_string(age)] = bin.clip_fraction();
  }
  out["fresh_tokens"] = static_cast<double>(t.same_weights_tokens);
  out["mismatch_mean"] = t.mismatch_mean;
  out["mismatch_max"] = t.mismatch_max;
  out["entropy"] = t.entropy;
  out["explained_variance"] = t.explained_variance;
  out["value_error"] = t.value_error;
  out["value_mean"] = t.value_mean;
  out["target_mean"] = t.target_mean;
}

}  // namespace

OutcomeStatistics outcome_statistics(const std::deque<TrainingItem>& items) {
  OutcomeStatistics out;
  if (items.empty()) return out;
  for (const TrainingItem& item : items) {
    const Outcome& o = item.outcome;
    out.reward_mean += o.reward;
    ++out.verdicts[std::string(verdict_name(o))];
    out.pass_rate += o.verdict == VerdictClass::passed ? 1 : 0;
    out.faster_eager += is_faster(o.speedup_eager) ? 1 : 0;
    out.faster_compile += is_faster(o.speedup_compile) ? 1 : 0;
    out.truncated += o.truncated ? 1 : 0;
    out.turns_mean += o.turns;
    out.tool_calls_mean += o.tool_calls;
    out.action_tokens_mean += static_cast<double>(item.token_count());
  }
  for (double* mean :
       {&out.reward_mean, &out.pass_rate, &out.faster_eager, &out.faster_compile, &out.truncated,
        &out.turns_mean, &out.tool_calls_mean, &out.action_tokens_mean}) {
    *mean /= static_cast<double>(items.size());
  }
  return out;
}

std::map<std::string, double> numbers_of(const StepReport& report) {
  std::map<std::string, double> out;
  add_outcomes(report.outcomes, out);
  add_tokens(report.tokens, out);
  out["step"] = report.version.step;
  out["trajectories"] = static_cast<double>(report.trained.size());
  out["policy_loss"] = report.policy_loss;
  out["value_loss"] = report.value_loss;
  out["gradient_norm"] = report.gradient_norm;
  out["critic_gradient_norm"] = report.critic_gradient_norm;
  out["skipped_updates"] = static_cast<double>(report.skipped_updates);
  out["updates"] = static_cast<double>(report.updates);
  out["learning_rate"] = report.learning_rate;
  out["advantage_divisor"] = report.advantage_divisor;
  out["forward_tokens"] = static_cast<double>(report.forward_tokens);
  if (report.peak_bytes > 0) out["memory_peak_bytes"] = static_cast<double>(report.peak_bytes);
  return out;
}

}  // namespace warpsmith::policy
