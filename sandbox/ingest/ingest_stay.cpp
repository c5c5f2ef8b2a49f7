// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ingest/ingest_stay.hpp"

#include <algorithm>

namespace warpsmith::sandbox {

IngestStay::IngestStay(const IngestJob& job, const TaskDescription& description, Bench& bench,
                       WorkerSession& session, FurtherBaselines& further, Patience patience)
    : job_(job),
      description_(description),
      bench_(bench),
      session_(session),
      meter_(job.on_device ? CallMeter::by_device(session.device_noop())
                           : CallMeter::by_core(session.pid(), session.noop())),
      patience_(patience),
      further_(TrialPlace{session, bench, meter_, patience}, further) {}

OrFailure<IngestRecord> IngestStay::run(const StreamKey& key) {
  key_ = key;
  record_.facts.signature = description_.signature;
  if (auto done = choose_domain(); !done) return tl::unexpected(done.error());
  if (!record_.refusal.empty()) return record_;
  for (const Step step : steps()) {
    if (auto done = (this->*step)(); !done) return tl::unexpected(done.error());
    if (!record_.refusal.empty()) return record_;
  }
  return record_;
}

std::vector<IngestStay::Step> IngestStay::steps() const {
  if (job_.scope == IngestScope::verified) return {&IngestStay::gate, &IngestStay::try_dense};
  return {&IngestStay::gate, &IngestStay::try_dense, &IngestStay::calibrate_dense,
          &IngestStay::time_baselines};
}

void IngestStay::say(const std::string& what) {
  doing_ = what;
  if (job_.progress) job_.progress(job_.task.id + ": " + what);
}

/// Writes new contents into set 0.
OrFailure<void> IngestStay::prepare(Distribution distribution) {
  const bool draws = std::any_of(record_.rules.begin(), record_.rules.end(),
                                 [](const InputRule& rule) { return rule.drawn; });
  if (draws) {
    if (auto drawn = session_.draw(patience_); !drawn) return drawn;
    bench_.take_drawn(0, record_.rules);
  }
  bench_.fill(0, {key_, ++contents_, distribution}, record_.rules);
  return {};
}

OrFailure<void> IngestStay::baseline(bool compiled) {
  const MeteredCall call = meter_.measure(
      [&] { return compiled ? session_.compiled(0, patience_) : session_.eager(0, patience_); });
  if (call.fault) return tl::unexpected(failure_of(*call.fault, "baseline"));
  charged_ms_ = call.charged_ms;
  return {};
}

}  // namespace warpsmith::sandbox
