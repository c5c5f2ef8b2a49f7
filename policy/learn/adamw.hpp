// SPDX-License-Identifier: Apache-2.0
// AdamW with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101, algorithm 2). Each
// group of parameters has its own learning rate and is clipped separately.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "policy/model/weights.hpp"
#include "runtime/config/learner_config.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

using NamedParameters = std::vector<std::pair<std::string, at::Tensor>>;

/// Parameters that share a learning rate and are clipped together. Names are unique over groups.
struct ParameterGroup {
  std::string name;
  NamedParameters parameters;  // leaves that collect gradients
};

class AdamW {
 public:
  /// The rates and the warm-up in `config` are not used: `step` takes the rate to apply.
  AdamW(const OptimizerConfig& config, std::vector<ParameterGroup> groups);

  /// Updates group `index` from its gradients times `scale` and clears them. Returns the norm of
  /// the scaled gradient before clipping. If that is not finite, the gradients are cleared and
  /// nothing else changes. Returns 0 if there is no gradient.
  double step(size_t index, double learning_rate, double scale);
  /// The norm of the group's gradient; 0 if there is none.
  double gradient_norm(size_t index) const;
  /// Updates the group as `step` does; `norm` is its finite gradient_norm.
  void apply(size_t index, double learning_rate, double scale, double norm);
  void clear_gradients();

  size_t groups() const { return groups_.size(); }
  int64_t updates(size_t index) const { return groups_[index].updates; }

  /// Moments ("GROUP/NAME.exp_avg", "GROUP/NAME.exp_avg_sq") and counts ("GROUP/updates"). The
  /// tensors share storage with the optimiser's.
  WeightMap state() const;
  /// Copies such a map back. `parse_failed` for an entry that is missing or has another shape.
  Result<void> restore(const WeightMap& state);

 private:
  struct Group {
    ParameterGroup names;
    std::vector<at::Tensor> first;   // running mean of gradients
    std::vector<at::Tensor> second;  // running mean of their squares
    int64_t updates = 0;
  };
  /// Indices of the group's parameters with a gradient, of those that decay or of the others.
  std::vector<size_t> with_gradient(const Group& group, bool decays) const;
  void update(Group& group, const std::vector<size_t>& which, double rate, double decay);

  OptimizerConfig config_;
  std::vector<Group> groups_;
};

/// Share of the learning rate at a step, from 0: rises linearly over `warmup` steps, then 1.
double warmup_share(int64_t step, int64_t warmup);

}  // namespace warpsmith::policy
