// SPDX-License-Identifier: Apache-2.0
// Value pre-training: fits the critic to collected trajectories before any policy update.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "policy/learn/actor_critic.hpp"
#include "policy/learn/adamw.hpp"
#include "policy/learn/stages/batch_plan.hpp"
#include "runtime/config/stage_configs.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// A whole trajectory and its reward, which counts on the last action token.
struct ValueExample {
  HeldTrajectory held;
  double reward = 0;
};

struct ValueReport {
  int64_t step = 0;  // counted from 1
  int64_t steps = 0;
  double loss = 0;  // mean ½ (V − V_target)² over the step's action tokens, before the update
  double explained_variance = 0;  // on the held-out trajectories, after the update
  double gradient_norm = 0;
};

/// Owns the networks during training; only the critic changes. A shared trunk belongs to the
/// policy, so there only the value head is trained. The same calls give the same weights.
class ValueStage {
 public:
  /// Tokens of one forward pass, if no trajectory is longer; the limit of a CPU's cache.
  static constexpr int64_t pack_tokens = 2048;

  /// Trajectories without an action token are left out. `invalid_argument` if fewer than two
  /// remain, or for a token beyond the vocabulary.
  static Result<ValueStage> make(const ValueConfig& config, ActorCritic networks,
                                 std::vector<ValueExample> examples, uint64_t seed);

  /// True after the last step, or after `patience` steps without a higher explained variance.
  bool done() const;
  int64_t step_number() const { return step_; }
  int64_t steps() const { return static_cast<int64_t>(plan_.batches.size()); }
  int64_t left_out() const { return left_out_; }
  /// One optimiser step. Requires !done().
  ValueReport step();
  /// 1 − Var(target − V) / Var(target) over the held-out trajectories' action tokens, at present.
  double explained_variance() const;
  /// The highest so far; before the first step, the initial one.
  double best_explained_variance() const { return best_; }

  /// Writes the critic with the highest explained variance into an existing folder, in the form
  /// that `read_critic` takes.
  Result<void> save_best(const std::filesystem::path& folder) const;
  /// Writes critic, optimiser and progress into an existing folder; `restore` continues from it.
  Result<void> save(const std::filesystem::path& folder) const;
  Result<void> restore(const std::filesystem::path& folder);

 private:
  /// The indices of examples of one forward pass.
  using Pack = std::vector<size_t>;
  ValueStage(const ValueConfig& config, ActorCritic networks, std::vector<ValueExample> examples,
             uint64_t seed);
  std::vector<Pack> packs_of(const std::vector<size_t>& indices) const;
  /// (N) values of the pack's action tokens, in order.
  at::Tensor values_of(const Pack& pack) const;
  /// (N) λ-returns of the same tokens, given their values.
  std::vector<float> targets_of(const Pack& pack, const at::Tensor& values) const;
  void note(double explained);

  ValueConfig config_;
  ActorCritic networks_;
  std::vector<ValueExample> examples_;
  BatchPlan plan_;
  AdamW optimiser_;
  NamedParameters best_weights_;  // of the critic; copies
  double best_ = 0;
  int64_t best_step_ = 0;
  int64_t step_ = 0;
  int64_t left_out_ = 0;
};

}  // namespace warpsmith::policy
