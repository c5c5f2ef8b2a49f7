// SPDX-License-Identifier: Apache-2.0
// [learner] and its tables: when a step is taken, the losses, advantages, critic and optimiser. The
// code in policy/learn uses these structs directly.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/config/model_config.hpp"

namespace warpsmith {

/// The policy losses; policy/learn/losses.hpp has the formulas.
enum class LossKind : uint8_t { ppo, decoupled_ppo, two_sided_mask, dppo, tis, cispo };

/// How token losses become one number.
enum class Aggregation : uint8_t {
  token_mean,       // mean over all tokens of the step
  trajectory_mean,  // mean over each trajectory's tokens, then over trajectories
};

/// When values and proximal log-probabilities are computed.
enum class ForwardMode : uint8_t {
  streamed,  // when a segment arrives, while the trajectory's tools still run; keeps the prefix
  at_use,  // in the forward pass of the trajectory's first gradient: a third less work, but none in
           // advance; after a step's first update, also needs a forward pass of the policy from
           // before that update
};

/// Tensors that move from a GPU to pinned host memory until they are needed again.
enum class Offload : uint8_t {
  kept_prefixes,  // of running trajectories, beyond max_held
  layer_inputs,   // between the forward and the backward pass of a gradient
};

enum class CriticKind : uint8_t {
  separate,  // a separate body, initialised from the policy's weights
  shared,    // a value head on the policy's trunk
};

/// [learner.step]: an optimiser step starts as soon as either budget is met.
struct StepConfig {
  int64_t trajectories = 32;
  int64_t tokens = 1'048'576;  // action tokens
  int64_t minibatches = 1;     // optimiser updates per epoch
  int64_t epochs = 1;          // uses of each trajectory
};

/// [learner.loss]: π is the current policy, μ the one that sampled the token, π_p the proximal one.
struct LossConfig {
  LossKind kind = LossKind::decoupled_ppo;
  Aggregation aggregation = Aggregation::token_mean;
  double clip_low = 0.2;  // the ratio is clipped to [1 - clip_low, 1 + clip_high]
  double clip_high = 0.28;
  double dual_clip = 0.0;        // caps the loss at -dual_clip * A where A < 0; > 1, or 0: off
  double weight_cap = 5.0;       // largest π_p / μ in decoupled_ppo, largest π / μ in tis and kl
  bool mask_beyond_cap = false;  // decoupled_ppo: a weight above the cap becomes 0, not the cap
  double mask_low = 0.5;         // two_sided_mask: a token counts where π / μ is in
  double mask_high = 2.0;        // [mask_low, mask_high]
  double shift = 0.2;            // dppo: largest |π - μ|
  double sequence_low = 0.0;     // a trajectory counts where its geometric mean of π / μ is in
  double sequence_high = 0.0;    // [sequence_low, sequence_high]; sequence_high = 0: all count
  double kl = 0.0;               // weight of KL(π ‖ reference policy, the initial weights)
  double entropy = 0.0;          // weight of the entropy bonus
  double positive_nll = 0.0;     // weight of -log π on trajectories with a positive reward
};

/// [learner.advantage]: GAE.
struct AdvantageConfig {
  double gamma = 1.0;  // discount per action token
  double lambda = 0.95;
  double lambda_alpha = 0.0;   // > 0: lambda = 1 - 1 / (lambda_alpha * action tokens) instead
  bool running_scale = false;  // divide advantages by the running deviation of earlier steps
};

/// [learner.overlong]: the soft penalty for long trajectories.
struct OverlongConfig {
  int64_t limit = 0;   // action tokens from which a reward loses 1; 0: off
  int64_t margin = 0;  // tokens below the limit over which the penalty grows linearly
};

/// [learner.critic]: the value function.
struct CriticConfig {
  // A critic to start from, as written by stage `value` or in a checkpoint's critic/. Empty: a
  // separate critic starts as a copy of the policy, and every head starts at zero.
  std::filesystem::path folder;
  CriticKind kind = CriticKind::shared;
  bool stop_gradient = false;    // the value loss leaves a shared trunk unchanged
  double value_weight = 0.5;     // of the value loss, added to the policy loss
  double value_clip = 0.0;       // V is clipped to this far from its first prediction; 0: off
  int64_t value_warmup = 0;      // first steps, which train only the critic
  bool prompt_baseline = false;  // the critic predicts the difference to the prompt's mean reward
  bool surprise = false;  // the head also reads the probability of the least likely token so far
};

/// [learner.optimizer]: AdamW and its schedule.
struct OptimizerConfig {
  double learning_rate = 3e-6;         // of the policy
  double critic_learning_rate = 6e-6;  // of a separate critic, or of the value head
  int64_t warmup = 0;                  // steps over which both rates rise linearly
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.0;   // of matrices; norms and biases do not decay
  double gradient_clip = 1.0;  // largest gradient norm, for policy and critic separately
};

/// [learner.lora]: trains low-rank adapters of the policy instead of all its parameters. Everything
/// that is published contains the merged weights. A separate critic is trained in full.
struct LoraConfig {
  int64_t rank = 0;     // of every adapter; 0: off
  double alpha = 32.0;  // adapters count alpha / rank times
  std::vector<std::string> targets{"qkv", "out", "gate_up", "down"};  // matrices of every layer

  bool operator==(const LoraConfig&) const = default;
};

/// [learner.warnings]: early signs of a training collapse.
struct WarningsConfig {
  double entropy_change = 0.5;  // up or down, relative to the mean of the previous 8 steps; 0: off
  double explained_variance = 0.0;  // of the critic, below this after the first 8 steps; -1000: off
  double truncated = 0.5;           // share of trajectories that a limit ended, above this; 1: off
  double ratio = 10.0;   // 99th percentile of π/μ or μ/π, whichever is larger, over tokens with μ <
                         // 5 %, above this; 0: off
  int64_t patience = 3;  // steps in a row with the sign before it is a warning
  bool pause = false;    // a warning stops the run with a checkpoint
};

struct LearnerConfig {
  ComputeDevice device = ComputeDevice::cpu;  // "cpu", "cuda"
  int64_t gpu = 0;                            // number of the GPU, for "cuda"
  int64_t gpus = 1;  // ranks: GPUs from `gpu` on, each with a part of a step's trajectories and of
                     // the optimiser's state; on a CPU, threads; more than 1 needs forwards at_use
  ComputePrecision precision = ComputePrecision::bf16;  // "bf16", "fp32"; for "cuda"
  int64_t threads = 1;                                  // of the tensor library
  int64_t max_lag = 2;                        // versions; older tokens have no policy loss
  int64_t max_held_bytes = int64_t{2} << 30;  // of kept prefixes on the device; beyond it, those
                                              // that cost least to redo are offloaded or released
  std::vector<std::string> offload;           // "kept_prefixes", "layer_inputs"; for "cuda"
  int64_t max_offloaded_bytes = int64_t{32} << 30;  // of host memory for kept prefixes
  int64_t pack_tokens = 2048;                       // of one forward and backward pass
  ForwardMode forwards = ForwardMode::streamed;
  bool refresh_prefix = false;  // recompute a kept prefix when the weights have changed
  std::chrono::milliseconds rank_timeout{600'000};  // of one pass of all ranks, or one update
  int64_t max_skipped = 3;  // updates in a row that are skipped for numbers that are not finite,
                            // or segments in a row that are refused; then the run stops

  StepConfig step;
  LossConfig loss;
  AdvantageConfig advantage;
  OverlongConfig overlong;
  CriticConfig critic;
  LoraConfig lora;
  OptimizerConfig optimizer;
  WarningsConfig warnings;

  bool offloads(Offload what) const;
};

void describe(Fields& fields, LearnerConfig& c);
void validate(const LearnerConfig& c, Complaints& complaints);

}  // namespace warpsmith
