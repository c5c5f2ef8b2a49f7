// SPDX-License-Identifier: Apache-2.0
// Time: one steady clock for deadlines and durations, one wall clock for records.
#pragma once

#include <chrono>
#include <string>

namespace warpsmith {

using SteadyClock = std::chrono::steady_clock;

inline double in_ms(std::chrono::nanoseconds span) {
  return std::chrono::duration<double, std::milli>(span).count();
}

/// A point in time by which a wait must end. Every wait takes one.
class Deadline {
 public:
  static Deadline after(std::chrono::nanoseconds span) {
    return Deadline{SteadyClock::now() + span};
  }
  bool passed() const { return SteadyClock::now() >= at_; }
  /// The time that is left; zero once the deadline has passed.
  std::chrono::milliseconds left() const;
  SteadyClock::time_point at() const { return at_; }

 private:
  explicit Deadline(SteadyClock::time_point at) : at_(at) {}
  SteadyClock::time_point at_;
};

/// Wall time in UTC as 2026-01-31T12:34:56.789Z.
std::string utc_timestamp();

}  // namespace warpsmith
