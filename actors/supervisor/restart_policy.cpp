// SPDX-License-Identifier: Apache-2.0
#include "actors/supervisor/restart_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace warpsmith::actors {
namespace {

std::chrono::milliseconds delay_of(const RestartLimits& limits, size_t earlier) {
  const double first = static_cast<double>(limits.first_delay.count());
  const double longest = static_cast<double>(limits.max_delay.count());
  const double grown = first * std::pow(limits.factor, static_cast<double>(earlier));
  return std::chrono::milliseconds{std::llround(std::min(grown, longest))};
}

}  // namespace

FailureClass failure_class_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::timeout:
      return FailureClass::hung;
    case ErrorCode::peer_lost:
      return FailureClass::peer_lost;
    case ErrorCode::capacity:
    case ErrorCode::disk_full:
      return FailureClass::resource;
    case ErrorCode::invalid_config:
    case ErrorCode::not_found:
    case ErrorCode::unsupported:
    case ErrorCode::corrupt:
      return FailureClass::rejected;
    default:
      return FailureClass::crashed;
  }
}

RestartTable default_restart_table() {
  RestartTable table{};
  table[static_cast<size_t>(FailureClass::rejected)].max_restarts = 0;
  return table;
}

RestartDecision RestartPolicy::on_failure(FailureClass failure,
                                          std::chrono::steady_clock::time_point now) {
  const auto index = static_cast<size_t>(failure);
  const RestartLimits& limits = table_.at(index);
  auto& times = restarts_.at(index);
  while (!times.empty() && now - times.front() >= limits.window) times.pop_front();
  if (times.size() >= limits.max_restarts) {
    return GiveUp{fmt::format("{}: {} restarts within {} ms, at most {} allowed",
                              to_string(failure), times.size(), limits.window.count(),
                              limits.max_restarts)};
  }
  const auto delay = delay_of(limits, times.size());
  times.push_back(now);
  return RestartAfter{delay};
}

}  // namespace warpsmith::actors
