// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reference/baseline.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace warpsmith::sandbox {
namespace {

constexpr int most_worker_ends = 2;

}  // namespace

Result<std::vector<Baseline>> further_baselines_named(const std::vector<std::string>& names) {
  constexpr std::array further{Baseline::tuned, Baseline::graphed};
  for (const std::string& name : names) {
    const bool known = std::ranges::any_of(
        further, [&](const Baseline which) { return name == to_string(which); });
    if (known) continue;
    return fail(ErrorCode::invalid_argument,
                "baseline: expected \"max-autotune\" or \"cuda-graph\", got \"" + name + '"');
  }
  std::vector<Baseline> found;
  for (const Baseline which : further) {
    if (std::ranges::find(names, to_string(which)) != names.end()) found.push_back(which);
  }
  return found;
}

bool FurtherBaselines::has(Baseline which) const {
  return std::ranges::find(wanted_, which) != wanted_.end() && !dropped_.contains(which);
}

std::vector<Baseline> FurtherBaselines::left() const {
  std::vector<Baseline> left;
  std::ranges::copy_if(wanted_, std::back_inserter(left),
                       [this](const Baseline which) { return has(which); });
  return left;
}

void FurtherBaselines::drop(Baseline which, std::string reason) {
  dropped_.emplace(which, std::move(reason));
}

void FurtherBaselines::worker_ended(Baseline which, const std::string& reason) {
  if (++ended_[which] >= most_worker_ends) drop(which, reason);
}

std::string FurtherBaselines::reason(Baseline which) const {
  const auto found = dropped_.find(which);
  return found == dropped_.end() ? std::string() : found->second;
}

}  // namespace warpsmith::sandbox
