// SPDX-License-Identifier: Apache-2.0
// [learner]: the losses, the critic, the optimiser, and when it steps.
#pragma once

#include <cstdint>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

/// Policy losses of the design, 4-learning: all masked to the tokens that the model sampled.
enum class LossKind : uint8_t { ppo, decoupled_ppo, two_sided_mask, dppo, tis, cispo };

/// How token losses become one number.
enum class Aggregation : uint8_t {
  token_mean,       // over all tokens of the step
  trajectory_mean,  // mean per trajectory, then over trajectories (the paper's)
};

/// When values and proximal log-probabilities are computed.
enum class ForwardMode : uint8_t {
  streamed,  // when a segment arrives, while the trajectory's tools still run; the prefix is kept
  at_use,    // by the forward of the trajectory's first gradient: a third less work, no head start
};

enum class CriticKind : uint8_t {
  separate,  // a body of its own, started from the policy's weights
  shared,    // a value head on the policy's trunk
};

struct LearnerConfig {
  int64_t threads = 1;  // on a CPU

  // A step is taken as soon as either budget is met; the larger trajectories wait for nobody.
  int64_t step_trajectories = 32;
  int64_t step_tokens = 1'048'576;  // action tokens
  int64_t epochs = 1;               // uses of one step's trajectories
  int64_t minibatches = 1;          // optimiser updates per epoch
  int64_t max_lag = 2;              // versions; an older token counts nothing in the policy loss
  int64_t max_held_bytes = int64_t{2} << 30;  // of observed, unfinished trajectories

  int64_t pack_tokens = 2048;  // of one forward and backward
  ForwardMode forwards = ForwardMode::streamed;
  bool refresh_prefix = false;  // a kept prefix is computed anew when the weights have moved on

  LossKind loss = LossKind::decoupled_ppo;
  Aggregation aggregation = Aggregation::token_mean;
  double clip_low = 0.2;
  double clip_high = 0.28;
  double weight_cap = 5.0;  // of pi_p / mu in decoupled PPO
  double mask_low = 0.5;    // band of pi / mu of the two-sided mask
  double mask_high = 2.0;
  bool mask_beyond_cap = false;  // a weight above the cap counts nothing, instead of the cap
  double shift = 0.2;            // greatest |pi - mu| of dppo
  double sequence_low = 0.0;     // band of a trajectory's geometric mean of pi / mu; outside of it
  double sequence_high = 0.0;    // none of its tokens counts; high = 0: off
  double dual_clip = 0.0;        // lower bound of the objective for negative advantages; 0: off
  double kl = 0.0;               // weight of k3 to the reference policy (the weights at the start)
  double entropy = 0.0;          // weight of the bonus
  double positive_nll = 0.0;     // weight of the likelihood of rewarded trajectories; the paper's
                                 // alternative uses 0.1

  double gamma = 1.0;
  double lambda = 0.95;
  double lambda_alpha = 0.0;             // > 0: lambda = 1 - 1 / (alpha * action tokens) instead
  bool running_advantage_scale = false;  // divide by a running deviation, versioned

  int64_t overlong_limit = 0;   // action tokens from which a reward loses 1; 0: off
  int64_t overlong_margin = 0;  // below the limit, over which the penalty grows linearly

  CriticKind critic = CriticKind::shared;
  bool critic_stop_gradient = false;  // the value loss does not move a shared trunk
  double value_weight = 0.5;
  bool prompt_baseline = false;  // the critic predicts what differs from the prompt's mean reward
  double value_clip = 0.0;       // 0: off
  int64_t value_warmup = 0;      // steps that train the critic alone

  double learning_rate = 3e-6;         // of the actor
  double critic_learning_rate = 6e-6;  // of the critic, or of the value head on a shared trunk
  int64_t warmup = 0;                  // steps of linear rise
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  double gradient_clip = 1.0;  // global norm
};

void describe(Fields& fields, LearnerConfig& c);
void validate(const LearnerConfig& c, Complaints& complaints);

}  // namespace warpsmith
