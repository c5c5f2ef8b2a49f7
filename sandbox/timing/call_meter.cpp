// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/call_meter.hpp"

#include <algorithm>

#include "runtime/clock.hpp"

namespace warpsmith::sandbox {

std::optional<Fault> fault_of(const CallAccount& account) {
  if (account.on_core - account.elapsed <= max_overtime) return std::nullopt;
  return Fault{VerdictClass::device_fault, "the kernel ran on after it said that it was done"};
}

MeteredCall CoreMeter::measure(const Call& call) const {
  const auto theirs = contestant_.read();
  const auto ours = own_.read();
  const CallResult result = call();
  return account(result, theirs, ours);
}

MeteredCall CoreMeter::account(const CallResult& result, const std::optional<CoreReading>& theirs,
                               const std::optional<CoreReading>& ours) const {
  MeteredCall call{.elapsed_ms = in_ms(result.elapsed), .fault = result.fault};
  if (result.fault) return call;
  CallAccount account{.elapsed = result.elapsed};
  const auto theirs_now = contestant_.read();
  const auto ours_now = own_.read();
  if (theirs && theirs_now && ours && ours_now) {
    account.on_core = theirs_now->on_core - theirs->on_core;
    account.contestant_wait = theirs_now->waited - theirs->waited;
    account.verifier_wait = ours_now->waited - ours->waited;
    call.overtime_ms = std::max(0.0, in_ms(account.on_core - result.elapsed));
    call.fault = fault_of(account);
  }
  call.charged_ms = charged_ms(account, noop_);
  call.clock_ms = in_ms(result.elapsed - noop_);
  return call;
}

MeteredCall ClockMeter::measure(const Call& call) const {
  const CallResult result = call();
  const double ms = in_ms(result.elapsed - noop_);
  return {
      .charged_ms = ms, .elapsed_ms = in_ms(result.elapsed), .clock_ms = ms, .fault = result.fault};
}

MeteredCall DeviceMeter::measure(const Call& call) const {
  const CallResult result = call();
  return {.charged_ms = in_ms(result.device - noop_),
          .elapsed_ms = in_ms(result.elapsed),
          .fault = result.fault};
}

}  // namespace warpsmith::sandbox
