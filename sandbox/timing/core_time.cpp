// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/core_time.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "runtime/clock.hpp"

namespace warpsmith::sandbox {
namespace {

UniqueFd open_account(const std::string& path) {
  return UniqueFd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
}

}  // namespace

std::optional<CoreReading> parse_schedstat(std::string_view text) {
  std::array<int64_t, 2> numbers{};
  const char* at = text.data();
  const char* end = text.data() + text.size();
  for (int64_t& number : numbers) {
    while (at != end && *at == ' ') ++at;
    const auto parsed = std::from_chars(at, end, number);
    if (parsed.ec != std::errc{} || number < 0) return std::nullopt;
    at = parsed.ptr;
  }
  return CoreReading{std::chrono::nanoseconds{numbers[0]}, std::chrono::nanoseconds{numbers[1]}};
}

CoreTime CoreTime::of(pid_t pid) {
  return CoreTime{open_account("/proc/" + std::to_string(pid) + "/schedstat")};
}

CoreTime CoreTime::of_this_thread() {
  return CoreTime{open_account("/proc/thread-self/schedstat")};
}

std::optional<CoreReading> CoreTime::read() const {
  std::array<char, 96> text{};
  const ssize_t size = fd_ ? ::pread(fd_.get(), text.data(), text.size(), 0) : -1;
  if (size <= 0) return std::nullopt;
  return parse_schedstat({text.data(), static_cast<size_t>(size)});
}

double charged_ms(const CallAccount& account, std::chrono::nanoseconds noop) {
  const auto waits = account.contestant_wait + account.verifier_wait;
  return in_ms(std::max(account.elapsed - waits, account.on_core) - noop);
}

}  // namespace warpsmith::sandbox
