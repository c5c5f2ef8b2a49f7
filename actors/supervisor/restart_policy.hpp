// SPDX-License-Identifier: Apache-2.0
// Pure: decides when the supervisor restarts a failed child and when a failure is final.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/describe.hpp"
#include "runtime/error_code.hpp"

namespace warpsmith::actors {

/// Why a child ended, classified by whether a restart can help.
enum class FailureClass : uint8_t {
  crashed,    // it ended with an error
  hung,       // a deadline passed
  peer_lost,  // its node or process is gone
  resource,   // memory or disk ran out
  rejected,   // its configuration or input is wrong, so a restart would fail again
};
constexpr auto names_of(FailureClass) {
  return std::to_array<std::string_view>({"crashed", "hung", "peer_lost", "resource", "rejected"});
}
/// The class of the error that ended a child.
FailureClass failure_class_of(ErrorCode code) noexcept;

/// Limits for one class. After `max_restarts` within `window` the next failure is final.
struct RestartLimits {
  uint32_t max_restarts = 5;
  std::chrono::milliseconds window{60'000};
  std::chrono::milliseconds first_delay{100};
  std::chrono::milliseconds max_delay{10'000};
  double factor = 2;  // delay n is first_delay · factor^n, at most max_delay
};
using RestartTable = std::array<RestartLimits, enum_names<FailureClass>.size()>;
/// The defaults of RestartLimits, but no restart for `rejected`.
RestartTable default_restart_table();

struct RestartAfter {
  std::chrono::milliseconds delay;
};
struct GiveUp {
  std::string reason;
};
using RestartDecision = std::variant<RestartAfter, GiveUp>;

/// The restarts of one child. Each class has its own count, so that a flaky peer does not use up
/// the restarts of a crash.
class RestartPolicy {
 public:
  explicit RestartPolicy(RestartTable table = default_restart_table()) : table_(table) {}
  RestartDecision on_failure(FailureClass failure, std::chrono::steady_clock::time_point now);

 private:
  RestartTable table_;
  /// Times of the restarts within the window, at most max_restarts per class.
  std::array<std::deque<std::chrono::steady_clock::time_point>, enum_names<FailureClass>.size()>
      restarts_;
};

}  // namespace warpsmith::actors
