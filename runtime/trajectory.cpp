// SPDX-License-Identifier: Apache-2.0
#include "runtime/trajectory.hpp"

#include <algorithm>
#include <array>

namespace warpsmith {
namespace {

constexpr std::array<std::string_view, drop_reason_count> reason_names{
    "stale", "infrastructure", "cancelled", "too_long", "no_action_tokens"};

}  // namespace

std::string_view to_string(DropReason reason) noexcept {
  const auto index = static_cast<size_t>(reason);
  return index < reason_names.size() ? reason_names[index] : "unknown";
}

std::optional<DropReason> drop_reason_of(std::string_view name) noexcept {
  const auto* found = std::find(reason_names.begin(), reason_names.end(), name);
  if (found == reason_names.end()) return std::nullopt;
  return static_cast<DropReason>(found - reason_names.begin());
}

}  // namespace warpsmith
