// SPDX-License-Identifier: Apache-2.0
#include "runtime/trajectory.hpp"

#include <algorithm>
#include <array>

namespace warpsmith {
namespace {

constexpr std::array<std::string_view, drop_reason_count> reason_names{
    "stale", "infrastructure", "cancelled", "too_long", "no_action_tokens", "no_answer"};
constexpr std::string_view no_submission = "no_submission";

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

std::string_view verdict_name(const Outcome& outcome) noexcept {
  return outcome.verdict ? to_string(*outcome.verdict) : no_submission;
}

bool set_verdict(Outcome& outcome, std::string_view name) noexcept {
  outcome.verdict.reset();
  for (size_t i = 0; i < verdict_class_count; ++i) {
    const auto verdict = static_cast<VerdictClass>(i);
    if (to_string(verdict) == name) outcome.verdict = verdict;
  }
  return outcome.verdict || name == no_submission;
}

}  // namespace warpsmith
