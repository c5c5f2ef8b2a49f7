// SPDX-License-Identifier: Apache-2.0
// AdamW with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101), per group of
// parameters its own rate and its own limit on the gradient's norm.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "policy/model/weights.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

struct AdamWConfig {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.0;   // of matrices; norms and biases are never decayed
  double gradient_clip = 1.0;  // greatest norm of a group's whole gradient
};

using NamedParameters = std::vector<std::pair<std::string, at::Tensor>>;

/// Parameters that share a learning rate and are clipped together. Names are unique over groups.
struct ParameterGroup {
  std::string name;
  NamedParameters parameters;  // leaves that collect gradients
};

class AdamW {
 public:
  AdamW(AdamWConfig config, std::vector<ParameterGroup> groups);

  /// One update of group `index` from its gradients times `scale`, and forgets them. Returns the
  /// norm of the scaled gradient before clipping. A norm that is not finite changes nothing but the
  /// gradients, which are forgotten all the same. Without any gradient: 0, no update.
  double step(size_t index, double learning_rate, double scale);
  /// Forgets all gradients.
  void clear_gradients();

  size_t groups() const { return groups_.size(); }
  int64_t updates(size_t index) const { return groups_[index].updates; }

  /// Moments and counts under "GROUP/NAME.exp_avg" and the like, sharing storage.
  WeightMap state() const;
  /// Copies such a map back; `parse_failed` names what is missing or of another shape.
  Result<void> restore(const WeightMap& state);

 private:
  struct Group {
    ParameterGroup names;
    std::vector<at::Tensor> first;   // running mean of gradients
    std::vector<at::Tensor> second;  // of their squares
    int64_t updates = 0;
  };
  /// Indices into the group's parameters that have a gradient and, or do not, decay.
  std::vector<size_t> with_gradient(const Group& group, bool decays) const;
  void update(Group& group, const std::vector<size_t>& which, double rate, double decay);

  AdamWConfig config_;
  std::vector<Group> groups_;
};

/// Linear rise over `warmup` steps, then 1. `step` counts from 0.
double warmup_share(int64_t step, int64_t warmup);

}  // namespace warpsmith::policy
