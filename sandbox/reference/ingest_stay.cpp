// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reference/ingest_stay.hpp"

#include <algorithm>

namespace warpsmith::sandbox {

IngestStay::IngestStay(const IngestJob& job, const TaskDescription& description, Bench& bench,
                       WorkerSession& session, FurtherBaselines& further, Deadline deadline)
    : job_(job), description_(description), bench_(bench), session_(session), deadline_(deadline) {
  if (job.on_device) {
    meter_ = std::make_unique<DeviceMeter>(session.device_noop());
  } else {
    meter_ = std::make_unique<CoreMeter>(session.pid(), session.noop());
  }
  further_.emplace(TrialPlace{session, bench, *meter_, deadline}, further);
}

Result<IngestRecord> IngestStay::run(const StreamKey& key) {
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

/// Fresh contents into set 0.
Result<void> IngestStay::prepare(Distribution distribution) {
  const bool draws = std::any_of(record_.rules.begin(), record_.rules.end(),
                                 [](const InputRule& rule) { return rule.drawn; });
  if (draws) {
    if (auto drawn = session_.draw(deadline_); !drawn) return drawn;
    bench_.take_drawn(0, record_.rules);
  }
  bench_.fill(0, {key_, ++contents_, distribution}, record_.rules);
  return {};
}

Result<void> IngestStay::baseline(bool compiled) {
  const MeteredCall call = meter_->measure(
      [&] { return compiled ? session_.compiled(0, deadline_) : session_.eager(0, deadline_); });
  if (call.fault) return tl::unexpected(error_of(*call.fault, "baseline"));
  charged_ms_ = call.charged_ms;
  return {};
}

/// Eager, and other orders of its sums, against the reference.
Result<DistributionFacts> IngestStay::trial(Distribution distribution) {
  DistributionFacts facts{.distribution = distribution};
  if (auto ready = prepare(distribution); !ready) return tl::unexpected(ready.error());
  if (auto done = baseline(false); !done) return tl::unexpected(done.error());
  if (auto done = session_.collect(0, deadline_); !done) return tl::unexpected(done.error());
  if (auto done = session_.reference(0, deadline_); !done) return tl::unexpected(done.error());
  ErrorStats stats = bench_.compare_with_reference(Side::worker, 0, bound_);
  facts.eager_error = stats.worst;
  for (uint32_t order = 0; order < description_.honest_orders.size(); ++order) {
    if (auto done = session_.honest(0, order, deadline_); !done) {
      return tl::unexpected(done.error());
    }
    stats.add(bench_.compare_with_reference(Side::worker, 0, bound_));
  }
  facts.honest_error = stats.worst;
  facts.kept = stats.right() && stats.undefined == 0 && stats.worst <= honest_reach &&
               stats.undecided <= stats.elements / one_undecided_in;
  return facts;
}

/// The widest domain under which enough distributions can be judged.
Result<void> IngestStay::choose_domain() {
  for (const Domain domain : {Domain::free, Domain::non_negative, Domain::unit}) {
    say("input sets (" + std::string(to_string(domain)) + ")");
    record_.rules = rules_for(description_, domain);
    record_.distributions.clear();
    int kept = 0;
    for (const Distribution distribution : verified_distributions) {
      auto facts = trial(distribution);
      if (!facts) return tl::unexpected(facts.error());
      kept += facts->kept ? 1 : 0;
      record_.distributions.push_back(*facts);
    }
    if (kept >= least_distributions) return {};
  }
  record_.refusal =
      "honest evaluations are not finite, miss the bound or nearly do, or nothing bounds them, on "
      "more than " +
      std::to_string(verified_distributions.size() - least_distributions) + " of " +
      std::to_string(verified_distributions.size()) + " distributions";
  return {};
}

/// One of the verified sets is dense. Eager's time bounds the patience with a candidate.
Result<void> IngestStay::try_dense() {
  say("dense sets");
  const auto facts = trial(Distribution::dense);
  if (!facts) return tl::unexpected(facts.error());
  record_.facts.eager_ms = charged_ms_;
  if (!facts->kept) {
    record_.refusal =
        "honest evaluations are not finite, miss the bound or nearly do, or nothing bounds them, "
        "on "
        "dense inputs";
  }
  return {};
}

}  // namespace warpsmith::sandbox
