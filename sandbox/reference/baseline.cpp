// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reference/baseline.hpp"

#include <algorithm>

namespace warpsmith::sandbox {

std::string_view to_string(Baseline which) noexcept {
  constexpr std::array<std::string_view, 3> names{"torch.compile", "max-autotune", "cuda-graph"};
  const auto index = static_cast<size_t>(which);
  return index < names.size() ? names[index] : "unknown";
}

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

}  // namespace warpsmith::sandbox
