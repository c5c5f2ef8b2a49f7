// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/clock_log.hpp"

#include <utility>

namespace warpsmith::sandbox {

void ClockLog::begin() {
  const auto took = read();
  record_.first_reading_ms = in_ms(took);
  record_.each_block = took < longest_reading;
}

void ClockLog::block_done() {
  if (record_.each_block) record_.each_block = read() < longest_reading;
}

SteadyClock::duration ClockLog::read() {
  const auto start = now_();
  record_.samples.push_back(reader_.read());
  return now_() - start;
}

ClockRecord ClockLog::end() {
  const bool begun = !record_.samples.empty();
  if (begun && !record_.each_block) record_.samples.push_back(reader_.read());
  return std::move(record_);
}

}  // namespace warpsmith::sandbox
