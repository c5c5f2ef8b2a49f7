// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/call_meter.hpp"

#include <fcntl.h>
#include <fmt/format.h>

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

std::optional<Fault> fault_of(const CallAccount& account) {
  if (account.on_core - account.elapsed <= max_overtime) return std::nullopt;
  return Fault{VerdictClass::device_fault, "the kernel ran on after it said that it was done"};
}

CallMeter CallMeter::by_core(pid_t contestant, nanoseconds noop) {
  return {noop, false, Accounts{CoreTime::of(contestant), CoreTime::of_this_thread()}};
}

CallMeter CallMeter::by_clock(nanoseconds noop) {
  return {noop, false, std::nullopt};
}

CallMeter CallMeter::by_device(pid_t contestant, nanoseconds device_noop) {
  return {device_noop, true, Accounts{CoreTime::of(contestant), CoreTime::of_this_thread()}};
}

/// Empty if the kernel keeps no account, or none is wanted.
std::optional<CallMeter::Reading> CallMeter::read() const {
  if (!accounts_) return std::nullopt;
  const auto contestant = accounts_->contestant.read(), verifier = accounts_->verifier.read();
  if (!contestant || !verifier) return std::nullopt;
  return Reading{*contestant, *verifier};
}

MeteredCall CallMeter::measure(const Call& call, std::optional<nanoseconds> noop) const {
  const auto before = read();
  const CallResult result = call();
  MeteredCall metered{.elapsed_ms = in_ms(result.elapsed),
                      .clock_ms = in_ms(result.elapsed - noop.value_or(noop_)),
                      .fault = result.fault};
  if (result.fault) return metered;
  CallAccount account{.elapsed = result.elapsed};
  if (const auto after = read(); before && after) {
    account.on_core = after->contestant.on_core - before->contestant.on_core;
    account.contestant_wait = after->contestant.waited - before->contestant.waited;
    account.verifier_wait = after->verifier.waited - before->verifier.waited;
    metered.waited_ms = in_ms(account.contestant_wait + account.verifier_wait);
  }
  if (on_device_) {
    metered.charged_ms = in_ms(result.device - noop_);
    return metered;
  }
  metered.overtime_ms = std::max(0.0, in_ms(account.on_core - account.elapsed));
  metered.fault = fault_of(account);
  metered.charged_ms = charged_ms(account, noop_);
  return metered;
}

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
  return CoreTime{open_account(fmt::format("/proc/{}/schedstat", pid))};
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
