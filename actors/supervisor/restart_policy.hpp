// SPDX-License-Identifier: Apache-2.0
// When a failed child is started again, and when the supervisor gives up on it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/error_code.hpp"

namespace warpsmith::actors {

/// What went wrong with a child, as far as restarting it is concerned.
enum class FailureClass : uint8_t {
  crashed,    // it ended with an error
  hung,       // it ended because a deadline passed
  peer_lost,  // the node or process it lived in is gone
  resource,   // memory or disk ran out
  rejected,   // its configuration or input is wrong: the same again would fail again
};
inline constexpr size_t failure_class_count = 5;
std::string_view to_string(FailureClass failure) noexcept;
/// The class of an error that ended a child.
FailureClass failure_class_of(ErrorCode code) noexcept;

/// Limits for one class. After `max_restarts` within `window` the next failure is final.
struct RestartLimits {
  uint32_t max_restarts = 5;
  std::chrono::milliseconds window{60'000};
  std::chrono::milliseconds first_delay{100};
  std::chrono::milliseconds max_delay{10'000};
  double factor = 2;  // delay n is first_delay · factor^n, at most max_delay
};
using RestartTable = std::array<RestartLimits, failure_class_count>;
/// `rejected` is never restarted; the rest as RestartLimits says.
RestartTable default_restart_table();

struct RestartAfter {
  std::chrono::milliseconds delay;
};
struct GiveUp {
  std::string reason;
};
using RestartDecision = std::variant<RestartAfter, GiveUp>;

/// The memory of one child. Time is passed in; classes are counted apart, so that a flaky peer
/// does not use up the restarts of a crash.
class RestartPolicy {
 public:
  explicit RestartPolicy(RestartTable table = default_restart_table()) : table_(table) {}
  RestartDecision on_failure(FailureClass failure, std::chrono::steady_clock::time_point now);

 private:
  RestartTable table_;
  /// Bounded by max_restarts each.
  std::array<std::deque<std::chrono::steady_clock::time_point>, failure_class_count> restarts_;
};

}  // namespace warpsmith::actors
