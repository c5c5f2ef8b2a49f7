// SPDX-License-Identifier: Apache-2.0
#include "runtime/verdict.hpp"

#include <array>

namespace warpsmith {
namespace {

template <class Enum, size_t N>
std::string_view name_in(const std::array<std::string_view, N>& names, Enum value) {
  const auto index = static_cast<size_t>(value);
  return index < N ? names[index] : "unknown";
}

}  // namespace

std::string_view to_string(VerdictClass outcome) noexcept {
  static constexpr std::array<std::string_view, verdict_class_count> names{
      "passed",        "wrong",        "nonfinite",      "compile_error", "banned_construct",
      "launch_error",  "device_fault", "timeout",        "out_of_memory", "oob_write",
      "input_mutated", "too_fast",     "unstable_timing"};
  return name_in(names, outcome);
}

std::string_view to_string(InfraKind kind) noexcept {
  static constexpr std::array<std::string_view, 7> names{
      "infra_sandbox_lost", "infra_reference_failed", "infra_jail_unavailable",
      "infra_noise",        "infra_deadline",         "infra_disk",
      "infra_task_refused"};
  return name_in(names, kind);
}

std::string_view to_string(Numerics numerics) noexcept {
  static constexpr std::array<std::string_view, 2> names{"strict", "paper"};
  return name_in(names, numerics);
}

std::string_view to_string(TrustClass trust) noexcept {
  static constexpr std::array<std::string_view, 4> names{"device", "commit", "lowered", "paper"};
  return name_in(names, trust);
}

}  // namespace warpsmith
