// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ingest/ingest_stay.hpp"

#include <algorithm>

#include "sandbox/judge/number_text.hpp"

namespace warpsmith::sandbox {

namespace {

/// "1.6e+09 elements".
std::string elements_text(const TaskSignature& signature) {
  double elements = 0;
  for (const TensorSpec& spec : signature.tensors) {
    elements +=
        static_cast<double>(tensor_bytes(spec)) / static_cast<double>(element_bytes(spec.dtype));
  }
  return brief(elements) + " elements";
}

constexpr int most_calibrations = 5;

CallMeter meter_of(const IngestJob& job, WorkerSession& session) {
  if (job.on_device) return CallMeter::by_device(session.pid(), session.device_noop());
  return CallMeter::by_core(session.pid(), session.noop());
}

}  // namespace

IngestStay::IngestStay(const IngestJob& job, const TaskDescription& description, Bench& bench,
                       WorkerSession& session, FurtherBaselines& further, Patience patience)
    : job_(job),
      description_(description),
      bench_(bench),
      session_(session),
      meter_(meter_of(job, session)),
      patience_(patience),
      further_(TrialPlace{session, bench, meter_, patience}, further) {}

OrFailure<IngestRecord> IngestStay::run(const StreamKey& key) {
  key_ = key;
  record_.facts.signature = description_.signature;
  record_.worker_bytes = description_.worker_bytes;
  if (auto done = take(strict_steps()); !done) return tl::unexpected(done.error());
  if (job_.numerics == Numerics::paper) std::swap(record_.refusal, record_.strict_refusal);
  if (!record_.refusal.empty()) return record_;
  if (auto done = take(further_steps()); !done) return tl::unexpected(done.error());
  return record_;
}

/// Takes steps until one refuses the task.
OrFailure<void> IngestStay::take(const std::vector<Step>& steps) {
  for (const Step step : steps) {
    if (auto done = (this->*step)(); !done) return done;
    if (!record_.refusal.empty()) break;
  }
  return {};
}

/// What `strict` needs.
std::vector<IngestStay::Step> IngestStay::strict_steps() const {
  std::vector<Step> steps{&IngestStay::choose_domain, &IngestStay::gate, &IngestStay::try_dense};
  if (job_.scope == IngestScope::whole) steps.push_back(&IngestStay::calibrate_dense);
  return steps;
}

std::vector<IngestStay::Step> IngestStay::further_steps() const {
  std::vector<Step> steps;
  if (job_.numerics == Numerics::paper) steps.push_back(&IngestStay::gate_paper);
  if (job_.scope == IngestScope::whole) steps.push_back(&IngestStay::time_baselines);
  return steps;
}

void IngestStay::say(const std::string& what) {
  if (what == doing_) return;
  doing_ = what;
  if (!job_.progress) return;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(SteadyClock::now() - began_);
  job_.progress(job_.task.id + ": " + what + ", " + elements_text(description_.signature) + ", " +
                std::to_string(seconds.count()) + " s");
}

/// Writes new contents into set 0, as `strict` does.
OrFailure<void> IngestStay::prepare(Distribution distribution) {
  return fill(distribution, record_.rules);
}

OrFailure<void> IngestStay::fill(Distribution distribution, const std::vector<InputRule>& rules) {
  if (std::ranges::any_of(rules, &InputRule::drawn)) {
    if (auto drawn = session_.draw(patience_); !drawn) return drawn;
    bench_.take_drawn(0, rules);
  }
  bench_.fill(0, {key_, ++contents_, distribution}, rules);
  return {};
}

/// Makes the reference of set 0, unless it is there: only a draw overwrites it.
OrFailure<void> IngestStay::refer() {
  if (referred_ == contents_) return {};
  if (auto done = session_.reference(0, patience_); !done) return done;
  referred_ = contents_;
  return {};
}

/// Calls eager and keeps its outputs (`of_eager`).
OrFailure<void> IngestStay::keep_eager() {
  if (auto done = baseline(false); !done) return done;
  if (auto done = session_.collect(0, patience_); !done) return done;
  bench_.keep_outputs(0);
  return {};
}

/// Other processes may have had the core during the session's first calibration. Measures the empty
/// call again, until a baseline takes longer.
OrFailure<void> IngestStay::calibrate_meter() {
  if (job_.on_device) return {};
  for (int tries = 0; tries < most_calibrations; ++tries) {
    if (auto done = session_.calibrate(patience_); !done) return done;
    meter_ = meter_of(job_, session_);
    if (auto ready = prepare(Distribution::dense); !ready) return ready;
    if (auto done = baseline(false); !done) return done;
    if (auto done = session_.forget(patience_); !done) return done;
    if (charged_ms_ > 0) break;
  }
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
