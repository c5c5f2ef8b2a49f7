// SPDX-License-Identifier: Apache-2.0
#include "runtime/clock.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

namespace warpsmith {

using std::chrono::milliseconds;

milliseconds Deadline::left() const {
  const auto rest = std::chrono::ceil<milliseconds>(at_ - SteadyClock::now());
  return std::max(rest, milliseconds{0});
}

std::string utc_timestamp() {
  const auto now = std::chrono::system_clock::now();
  const auto ms = std::chrono::duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> date{};
  (void)std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 48> text{};
  (void)std::snprintf(text.data(), text.size(), "%s.%03dZ", date.data(), static_cast<int>(ms));
  return text.data();
}

}  // namespace warpsmith
