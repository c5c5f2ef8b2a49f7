// SPDX-License-Identifier: Apache-2.0
// Statistics of a step's tokens: distance between the policies, clipping, quality of the critic.
// Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

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
  bool stale = false;         // too old: m = 0
  bool same_weights = false;  // π_p had the weights that sampled it: π_p/μ is the mismatch alone
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

/// Tokens below this probability under μ are the ones whose ratios were seen to explode first.
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
  double mean_lag = 0;
  int64_t same_weights_tokens = 0;  // TokenSample::same_weights
  double mismatch_mean = 0;         // |log π_p − log μ| over those
  double mismatch_max = 0;
  double entropy = 0;             // mean, nats
  double explained_variance = 0;  // 1 − Var(target − V) / Var(target); 0 if constant
  double value_error = 0;         // root mean square of target − V
  double value_mean = 0;
  double target_mean = 0;
};

/// Statistics of one step's action tokens; zeros if there are none.
RatioStatistics ratio_statistics(const std::vector<TokenSample>& samples);

/// The quantile of sorted numbers at `level` in [0, 1], linearly interpolated.
double quantile_of(const std::vector<double>& sorted, double level);

}  // namespace warpsmith::policy
