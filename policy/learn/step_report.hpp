// SPDX-License-Identifier: Apache-2.0
// The report of one optimiser step: statistics of its tokens (distance between the policies,
// clipping, quality of the critic) and of its outcomes; and early signs of a collapse in these
// reports. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/learn/held_trajectory.hpp"
#include "runtime/config/learner_config.hpp"
#include "runtime/describe.hpp"
#include "runtime/policy_version.hpp"

namespace warpsmith::policy {

/// One action token. Log-probabilities are natural.
struct TokenSample {
  float log_prob = 0;   // log π when the gradient was taken
  float behaviour = 0;  // log μ
  float proximal = 0;   // log π_p
  float entropy = 0;    // nats
  float value = 0;      // V when the token was first scored
  float target = 0;     // λ-return
  uint32_t lag = 0;     // versions between sampling and use
  bool clipped = false;
  bool filtered = false;
  bool stale = false;  // too old: m = 0
  bool same_weights =
      false;  // π_p has the weights that sampled it, so π_p/μ shows only the mismatch
};

/// Tokens of one lag.
struct AgeBin {
  int64_t tokens = 0;
  int64_t clipped = 0;

  double clip_fraction() const {
    return tokens == 0 ? 0 : static_cast<double>(clipped) / static_cast<double>(tokens);
  }
};

/// Quantiles of π/μ at these levels.
inline constexpr std::array<double, 7> ratio_levels{0.0, 0.01, 0.05, 0.5, 0.95, 0.99, 1.0};

/// The ratios of tokens below this probability under μ were observed to explode first.
inline constexpr double unlikely = 0.05;

struct RatioStatistics {
  int64_t tokens = 0;                       // all action tokens, including stale ones
  int64_t stale_tokens = 0;                 // m = 0
  int64_t filtered_tokens = 0;              // removed by the sequence filter
  std::array<double, 7> ratio_quantiles{};  // of π/μ over trained tokens, at ratio_levels
  double unlikely_ratio = 0;  // 99th percentile of max(π/μ, μ/π) over trained tokens with μ below
                              // `unlikely`; 0 if there are none
  double effective_sample_size = 0;  // (Σρ)² / (n Σρ²) in (0, 1]
  double k3 = 0;                     // mean of e^d − d − 1, d = log π − log μ: KL(μ ‖ π)
  double proximal_k3 = 0;            // the same with d = log π − log π_p
  double clip_fraction = 0;
  std::map<uint32_t, AgeBin> by_age;  // lag → tokens (the lag histogram) and clips
  double lag_mean = 0;
  int64_t fresh_tokens = 0;  // TokenSample::same_weights
  double mismatch_mean = 0;  // |log π_p − log μ| over those
  double mismatch_max = 0;
  double entropy = 0;             // mean, nats
  double explained_variance = 0;  // 1 − Var(target − V) / Var(target); 0 if constant
  double value_error = 0;         // root mean square of target − V
  double value_mean = 0;
  double target_mean = 0;

  WARPSMITH_RECORD(tokens, stale_tokens, filtered_tokens, ratio_quantiles, unlikely_ratio,
                   effective_sample_size, k3, proximal_k3, clip_fraction, by_age, lag_mean,
                   fresh_tokens, mismatch_mean, mismatch_max, entropy, explained_variance,
                   value_error, value_mean, target_mean)
};

/// Statistics of one step's action tokens; zeros if there are none.
RatioStatistics ratio_statistics(const std::vector<TokenSample>& samples);

/// The quantile of sorted numbers at `level` in [0, 1], linearly interpolated.
double quantile_of(const std::vector<double>& sorted, double level);

/// Statistics over the outcomes of a step's trajectories; means unless noted.
struct OutcomeStatistics {
  double reward = 0;                        // before any penalty
  std::map<std::string, int64_t> verdicts;  // count of each
  double pass_rate = 0;
  double faster_eager = 0;    // share more than 5 % faster than eager
  double faster_compile = 0;  // share more than 5 % faster than torch.compile
  double truncated = 0;
  double turns = 0;
  double tool_calls = 0;
  double action_tokens = 0;

  WARPSMITH_RECORD(reward, verdicts, pass_rate, faster_eager, faster_compile, truncated, turns,
                   tool_calls, action_tokens)
};

struct StepReport {
  PolicyVersion version;  // of the weights after the step
  std::vector<TrajectoryId> trained;
  OutcomeStatistics outcomes;
  RatioStatistics tokens;  // of the last epoch
  double policy_loss = 0;  // of the last update, by the configured aggregation
  double value_loss = 0;
  double gradient_norm = 0;         // of the policy, largest over the step's updates
  double critic_gradient_norm = 0;  // likewise
  int64_t skipped_updates = 0;      // because a loss or a gradient was not finite
  int64_t updates = 0;
  double learning_rate = 0;
  double advantage_divisor = 1;
  int64_t forward_tokens = 0;     // tokens of all forward and backward passes, with prompts
  bool value_only = false;        // a step of value warm-up
  int64_t memory_peak_bytes = 0;  // of tensors on the GPU since the step before; 0 on a CPU

  WARPSMITH_RECORD(version, trained, outcomes, tokens, policy_loss, value_loss, gradient_norm,
                   critic_gradient_norm, skipped_updates, updates, learning_rate, advantage_divisor,
                   forward_tokens, value_only, memory_peak_bytes)
};

OutcomeStatistics outcome_statistics(const std::deque<TrainingItem>& items);

/// A report as flat names and numbers for telemetry: "ratio_p99", "clip_age_2", "verdict.wrong".
std::map<std::string, double> numbers_of(const StepReport& report);

enum class Warning : uint8_t {
  entropy_falls,      // far below its mean over the steps before
  entropy_rises,      // far above it
  critic_is_no_help,  // explained variance below the bound: advantages are noisier than rewards
  answers_are_cut,    // many trajectories end at a limit
  unlikely_ratios,    // ratios of unlikely tokens explode
};
/// Names in records and in the progress line.
constexpr auto names_of(Warning) {
  return std::to_array<std::string_view>({"entropy_falls", "entropy_rises", "critic_is_no_help",
                                          "answers_are_cut", "unlikely_ratios"});
}

/// Watches the reports of all steps.
class EarlyWarnings {
 public:
  explicit EarlyWarnings(const WarningsConfig& config) : config_(config) {}

  /// Takes the next step's report. Returns the active warnings: signs present in `patience` steps
  /// in a row, including this one.
  std::vector<Warning> observe(const StepReport& report);

 private:
  static constexpr size_t window = 8;  // steps

  bool shows(Warning warning, const StepReport& report) const;
  double mean_entropy() const;

  WarningsConfig config_;
  std::deque<double> entropies_;                                // of the last `window` steps
  size_t steps_ = 0;                                            // observed so far
  std::array<int64_t, enum_names<Warning>.size()> in_a_row_{};  // steps that showed the sign
};

}  // namespace warpsmith::policy
