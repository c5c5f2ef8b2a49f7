// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/action_pack.hpp"

#include <ATen/ops/tensor.h>

#include <stdexcept>

namespace warpsmith::policy {

ActionPack plan_actions(std::span<const MaskedTokens> sequences) {
  std::vector<std::vector<int32_t>> inputs;
  std::vector<int64_t> rows;
  std::vector<int64_t> targets;
  int64_t first = 0;
  for (const MaskedTokens& s : sequences) {
    size_t last = 0;
    for (size_t t = 1; t < s.tokens.size(); ++t) {
      if (s.mask[t] != 1) continue;
      rows.push_back(first + static_cast<int64_t>(t) - 1);
      targets.push_back(s.tokens[t]);
      last = t;
    }
    if (last == 0) throw std::invalid_argument("action pack: a sequence without scored tokens");
    inputs.emplace_back(s.tokens.begin(), s.tokens.begin() + static_cast<std::ptrdiff_t>(last));
    first += static_cast<int64_t>(last);
  }
  return {pack_sequences(inputs), index_tensor(rows), index_tensor(targets)};
}

at::Tensor index_tensor(const std::vector<int64_t>& values) {
  return at::tensor(values, at::kLong);
}

}  // namespace warpsmith::policy
