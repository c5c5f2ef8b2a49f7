// SPDX-License-Identifier: Apache-2.0
#include "policy/model/value_head.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>

namespace warpsmith::policy {

at::Tensor ValueHead::values(const at::Tensor& hidden, const at::Tensor& more) const {
  at::Tensor rows = hidden.to(weight.scalar_type());
  if (more.defined()) rows = at::cat({rows, more.to(rows.options())}, 1);
  const at::Tensor scores = at::linear(rows, weight, bias).squeeze(-1);
  return scores.scalar_type() == at::kDouble ? scores : scores.to(at::kFloat);
}

std::vector<std::pair<std::string, at::Tensor>> ValueHead::parameters() const {
  return {{"score.weight", weight}, {"score.bias", bias}};
}

ValueHead make_value_head(int64_t width, const at::TensorOptions& options) {
  return {at::zeros({1, width}, options), at::zeros({1}, options)};
}

WeightMap value_head_to_map(const ValueHead& head) {
  return {{"score.weight", head.weight.detach()}, {"score.bias", head.bias.detach()}};
}

Result<ValueHead> value_head_from_map(int64_t width, const WeightMap& map) {
  ValueHead head = make_value_head(width);
  for (auto& [name, tensor] : head.parameters()) {
    const auto it = map.find(name);
    if (it == map.end() || it->second.sizes() != tensor.sizes()) {
      return fail(ErrorCode::parse_failed,
                  "value head: tensor \"" + name + "\" is missing or has another shape");
    }
    if (auto ok = check_finite(name, it->second); !ok) {
      return fail("value head", std::move(ok.error()));
    }
    tensor.copy_(it->second);
  }
  return head;
}

}  // namespace warpsmith::policy
