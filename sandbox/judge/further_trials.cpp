// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/further_trials.hpp"

#include "runtime/median.hpp"

namespace warpsmith::sandbox {

OrFailure<std::optional<double>> call_further(Baseline which, uint32_t set, WorkerSession& session,
                                              const CallMeter& meter, FurtherBaselines& further,
                                              Patience patience) {
  const MeteredCall call = meter.measure([&] { return session.baseline(which, set, patience); });
  if (!call.fault) return std::optional<double>{call.charged_ms};
  if (session.alive()) {
    further.drop(which, session.last_error());
    return std::optional<double>{};
  }
  Failure failure = failure_of(*call.fault, std::string(to_string(which)));
  if (failure.blame == Blame::deadline) return tl::unexpected(std::move(failure));
  if (failure.code == ErrorCode::timeout) {
    further.drop(which, "it did not return in time");
  } else {
    further.worker_ended(which, call.fault->detail);
  }
  failure.blame = Blame::machine;  // the task can be judged without this baseline
  return tl::unexpected(std::move(failure));
}

OrFailure<std::optional<double>> FurtherTrials::call(Baseline which) {
  return call_further(which, 0, context_.session, context_.meter, further_, context_.patience);
}

OrFailure<void> FurtherTrials::check(const BoundRule& bound) {
  for (const Baseline which : further_.left()) {
    TRY(const auto called, call(which));
    if (!called) continue;
    TRY_VOID(context_.session.collect(0, context_.patience));
    const Outputs kept{Side::candidate}, own{Side::worker};
    if (context_.bench.compare_outputs(own, kept, bound).right()) continue;
    further_.drop(which, "it differs from eager on dense inputs");
  }
  return {};
}

OrFailure<void> FurtherTrials::time_each(const std::function<OrFailure<void>()>& prepare) {
  for (const Baseline which : further_.left()) {
    TRY_VOID(prepare());
    TRY(const auto called, call(which));
    if (called) times_[which].push_back(*called);
    TRY_VOID(context_.session.free_outputs(context_.patience));
  }
  return {};
}

std::vector<BaselineFacts> FurtherTrials::facts() const {
  std::vector<BaselineFacts> facts;
  for (const Baseline which : further_.wanted()) {
    facts.push_back({.which = which, .reason = further_.reason(which)});
    if (further_.has(which)) facts.back().ms = median(times_.at(which));
  }
  return facts;
}

}  // namespace warpsmith::sandbox
