// SPDX-License-Identifier: Apache-2.0
// Counts the candidate's share of an evaluation's time. A candidate that exceeds the deadline by
// its own slowness gets a verdict; a failure of the machine would cost it nothing.
#pragma once

#include <chrono>
#include <string>

#include "runtime/clock.hpp"

namespace warpsmith::sandbox {

/// For one evaluation. Not thread-safe.
class OwnTime {
 public:
  /// `least`: time that any candidate may take. A cut-off before that means the deadline was too
  /// short.
  OwnTime(Deadline deadline, std::chrono::nanoseconds least)
      : deadline_(deadline), given_(deadline.left()), least_(least) {}

  void add(std::chrono::nanoseconds span) { spent_ += span; }

  /// Whether the deadline passed and the candidate took more than half of the time until then.
  bool caused_timeout() const {
    return deadline_.passed() && 2 * spent_ > given_ && spent_ > least_;
  }
  std::string text() const {
    return "its compilation, import and calls took " + seconds_text(spent_) +
           " of the evaluation's " + seconds_text(given_);
  }

 private:
  Deadline deadline_;
  std::chrono::nanoseconds given_, least_, spent_{0};
};

/// Adds its lifetime to `own` unless that is null.
class OwnClock {
 public:
  explicit OwnClock(OwnTime* own) : own_(own), began_(SteadyClock::now()) {}
  ~OwnClock() {
    if (own_ != nullptr) own_->add(SteadyClock::now() - began_);
  }
  OwnClock(const OwnClock&) = delete;
  OwnClock& operator=(const OwnClock&) = delete;

 private:
  OwnTime* own_;
  SteadyClock::time_point began_;
};

}  // namespace warpsmith::sandbox
