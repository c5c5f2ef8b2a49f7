// SPDX-License-Identifier: Apache-2.0
// How much of an evaluation's time its candidate took: who lets the deadline pass by its own
// slowness has a verdict, and no failure of ours, which would cost it nothing.
#pragma once

#include <chrono>
#include <string>

#include "runtime/clock.hpp"

namespace warpsmith::sandbox {

/// Of one evaluation. Not thread-safe.
class OwnTime {
 public:
  /// `least`: what any candidate may take. Who was cut off before that had too little time given.
  OwnTime(Deadline deadline, std::chrono::nanoseconds least)
      : deadline_(deadline), given_(deadline.left()), least_(least) {}

  void add(std::chrono::nanoseconds span) { spent_ += span; }

  /// The deadline passed, and more than half of the time until then was the candidate's.
  bool let_it_pass() const { return deadline_.passed() && 2 * spent_ > given_ && spent_ > least_; }
  std::string text() const {
    return "its compilation, import and calls took " + seconds_text(spent_) +
           " of the evaluation's " + seconds_text(given_);
  }

 private:
  Deadline deadline_;
  std::chrono::nanoseconds given_, least_, spent_{0};
};

/// Adds the time from its making to its end, where somebody counts it.
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
