// SPDX-License-Identifier: Apache-2.0
// The baselines that a task is timed against, besides eager.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// Every timed evaluation has `compiled`. The others are further baselines: no reward depends on
/// them.
enum class Baseline : uint8_t {
  compiled,  // torch.compile with its defaults
  tuned,     // torch.compile, mode max-autotune
  graphed,   // eager as a CUDA graph; GPUs only
};

/// "torch.compile", "max-autotune", "cuda-graph": in configuration, records and verdicts.
std::string_view to_string(Baseline which) noexcept;

/// The further baselines with these names, each once, in the order of the enumeration.
/// `invalid_argument` names an unknown one.
Result<std::vector<Baseline>> further_baselines_named(const std::vector<std::string>& names);

}  // namespace warpsmith::sandbox
