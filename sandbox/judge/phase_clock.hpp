// SPDX-License-Identifier: Apache-2.0
// Accounts for the time of an evaluation by phase.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "runtime/clock.hpp"

namespace warpsmith::sandbox {

/// Adds its lifetime to one entry, in milliseconds.
class PhaseClock {
 public:
  PhaseClock(std::map<std::string, double>& phases, std::string name)
      : phases_(phases), name_(std::move(name)), began_(SteadyClock::now()) {}
  ~PhaseClock() { phases_[name_] += in_ms(SteadyClock::now() - began_); }
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

 private:
  std::map<std::string, double>& phases_;
  std::string name_;
  SteadyClock::time_point began_;
};

}  // namespace warpsmith::sandbox
