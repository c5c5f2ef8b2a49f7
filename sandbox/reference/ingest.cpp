// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reference/ingest.hpp"

#include <algorithm>
#include <map>

#include "runtime/median.hpp"
#include "sandbox/judge/host_bench.hpp"
#include "sandbox/judge/seed.hpp"
#include "sandbox/reference/further_trials.hpp"
#include "sandbox/timing/bootstrap.hpp"
#include "sandbox/timing/call_meter.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int profile_sets = 4;     // dense sets behind a profile
constexpr int baseline_calls = 11;  // of each baseline
constexpr int loading_share = 5;    // of the budget: loading takes seconds, the whole a minute
constexpr int timed_sets = 9;       // at least so many timed outputs are checked in an evaluation
// Of half types one set in seven tells a softmax's element from its neighbour: with more sets no
// task is refused by chance, and who bets on it loses within a few submissions.
constexpr int half_timed_sets = 4 * timed_sets;

/// All outputs are of half types.
bool gives_halves(const TaskSignature& signature) {
  return std::ranges::all_of(signature.tensors, [](const TensorSpec& spec) {
    return spec.role != TensorRole::output || unit_of(spec.dtype) > unit_of(Dtype::f32);
  });
}

/// One ingest under way: a worker inside the commit protocol, and what was learnt so far.
class Ingest {
 public:
  Ingest(const IngestJob& job, const TaskDescription& description, Bench& bench,
         WorkerSession& session, FurtherBaselines& further, Deadline deadline)
      : job_(job),
        description_(description),
        bench_(bench),
        session_(session),
        deadline_(deadline) {
    if (job.on_device) {
      meter_ =
          std::make_unique<DeviceMeter>(DeviceMeter::Noop{session.noop(), session.device_noop()});
    } else {
      meter_ = std::make_unique<CoreMeter>(session.pid(), session.noop());
    }
    further_.emplace(TrialPlace{session, bench, *meter_, deadline}, further);
  }

  const std::string& doing() const { return doing_; }

  Result<IngestRecord> run(const StreamKey& key) {
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

 private:
  using Step = Result<void> (Ingest::*)();

  std::vector<Step> steps() const {
    if (job_.scope == IngestScope::verified) return {&Ingest::gate, &Ingest::try_dense};
    return {&Ingest::gate, &Ingest::try_dense, &Ingest::calibrate_dense, &Ingest::time_baselines};
  }

  void say(const std::string& what) {
    doing_ = what;
    if (job_.progress) job_.progress(job_.task.id + ": " + what);
  }

  /// Fresh contents into set 0.
  Result<void> prepare(Distribution distribution) {
    const bool draws = std::any_of(record_.rules.begin(), record_.rules.end(),
                                   [](const InputRule& rule) { return rule.drawn; });
    if (draws) {
      if (auto drawn = session_.draw(deadline_); !drawn) return drawn;
      bench_.take_drawn(0, record_.rules);
    }
    bench_.fill(0, {key_, ++contents_, distribution}, record_.rules);
    return {};
  }

  Result<void> baseline(bool compiled) {
    const MeteredCall call = meter_->measure(
        [&] { return compiled ? session_.compiled(0, deadline_) : session_.eager(0, deadline_); });
    if (call.fault) return tl::unexpected(error_of(*call.fault, "baseline"));
    charged_ms_ = call.charged_ms;
    return {};
  }

  /// Eager float32, and other orders of its sums, against the reference.
  Result<DistributionFacts> trial(Distribution distribution) {
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
    facts.kept = stats.right() && stats.undefined == 0;
    return facts;
  }

  /// The widest domain under which enough distributions can be judged.
  Result<void> choose_domain() {
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
    record_.refusal = "honest float32 is not finite, or misses the bound, on more than " +
                      std::to_string(verified_distributions.size() - least_distributions) + " of " +
                      std::to_string(verified_distributions.size()) + " distributions";
    return {};
  }

  Result<void> gate() {
    trials_.assign(description_.mutants.size(), {});
    for (size_t m = 0; m < trials_.size(); ++m) trials_[m].name = description_.mutants[m];
    for (DistributionFacts& facts : record_.distributions) {
      if (!facts.kept) continue;
      say("mutation gate (" + std::string(to_string(facts.distribution)) + ")");
      if (auto done = try_mutants(facts); !done) return done;
    }
    // Timed outputs are checked too: what differs in one element by chance gets as many sets.
    for (int i = 0; i < timed_sets && !quarantine_reason(trials_).empty(); ++i) {
      say("mutation gate (more sets)");
      if (auto done = try_survivors(); !done) return done;
    }
    record_.refusal = quarantine_reason(trials_);
    return {};
  }

  Result<void> try_mutants(DistributionFacts& facts) {
    if (auto ready = prepare(facts.distribution); !ready) return ready;
    const size_t count = description_.mutants.size() + description_.lower_precisions.size();
    for (size_t m = 0; m < count; ++m) {
      auto stats = judge_mutant(static_cast<uint32_t>(m));
      if (!stats) return tl::unexpected(stats.error());
      if (!*stats) continue;
      note_precision(facts, m, **stats);
      if (m < trials_.size()) record_trial(trials_[m], **stats);
    }
    return {};
  }

  Result<void> try_survivors() {
    if (auto ready = prepare(Distribution::dense); !ready) return ready;
    for (size_t m = 0; m < trials_.size(); ++m) {
      if (!trials_[m].applies || trials_[m].caught) continue;
      auto stats = judge_mutant(static_cast<uint32_t>(m));
      if (!stats) return tl::unexpected(stats.error());
      if (*stats) record_trial(trials_[m], **stats);
    }
    return {};
  }

  /// The reference is computed anew: the result memory also carries whether a mutant applies.
  Result<std::optional<ErrorStats>> judge_mutant(uint32_t index) {
    auto applies = session_.mutant(0, index, deadline_);
    if (!applies) return tl::unexpected(applies.error());
    if (!*applies) return std::optional<ErrorStats>{};
    if (auto done = session_.reference(0, deadline_); !done) return tl::unexpected(done.error());
    return std::optional{bench_.compare_with_reference(Side::worker, 0, bound_)};
  }

  void note_precision(DistributionFacts& facts, size_t mutant, const ErrorStats& stats) const {
    const auto& mutants = description_.mutants;
    const std::string& name = mutant < mutants.size()
                                  ? mutants[mutant]
                                  : description_.lower_precisions[mutant - mutants.size()];
    if (name == "bf16") facts.bf16_error = stats.worst;
    if (name == "tf32") facts.tf32_error = stats.worst;
  }

  /// One of the verified sets is dense. Eager's time bounds the patience with a candidate.
  Result<void> try_dense() {
    say("dense sets");
    const auto facts = trial(Distribution::dense);
    if (!facts) return tl::unexpected(facts.error());
    record_.facts.eager_ms = charged_ms_;
    if (!facts->kept) {
      record_.refusal = "honest float32 is not finite, or misses the bound, on dense inputs";
    }
    return {};
  }

  /// The bound of timed calls, and a check that torch.compile's output passes it beside eager's.
  Result<void> calibrate_dense() {
    for (int i = 0; i < profile_sets; ++i) {
      if (auto ready = prepare(Distribution::dense); !ready) return ready;
      if (auto done = session_.reference(0, deadline_); !done) return done;
      bench_.raise_profiles(record_.profiles);
    }
    if (auto done = baseline(false); !done) return done;
    if (auto done = session_.collect(0, deadline_); !done) return done;
    if (auto done = baseline(true); !done) return done;
    if (auto done = session_.collect(1, deadline_); !done) return done;
    bench_.use_profiles(record_.profiles);
    const ErrorStats both = bench_.compare_with_worker(Side::worker, 1, 0, bound_);
    if (!both.right()) record_.refusal = "torch.compile and eager differ on dense inputs";
    if (!both.right()) return {};
    if (auto done = further_->check(bound_); !done) return done;
    return gate_timed();
  }

  /// Timed outputs are held against eager's with the looser bound of a profile: that must tell the
  /// mutants too, on one of the sets that every timing has. What the exact bound cannot tell there
  /// either, because outputs of half types round it away, the verified sets have told already.
  Result<void> gate_timed() {
    std::vector<MutantTrial> trials(trials_);
    const bool halves = gives_halves(description_.signature);
    for (MutantTrial& trial : trials) trial.caught = false, trial.lost = halves;
    const int most = halves ? half_timed_sets : timed_sets;
    for (int i = 0; i < most && any_waits(trials); ++i) {
      if (i == timed_sets) drop_lost(trials);
      say("mutation gate (timed outputs)");
      if (auto ready = prepare(Distribution::dense); !ready) return ready;
      if (auto done = baseline(false); !done) return done;
      if (auto done = session_.collect(1, deadline_); !done) return done;
      for (size_t m = 0; m < trials.size(); ++m) {
        if (!trials[m].applies || trials[m].caught) continue;
        if (auto done = try_timed(m, trials[m]); !done) return done;
      }
    }
    const std::string names = names_uncaught(trials);
    if (!names.empty()) record_.refusal = "mutation gate: timed outputs would accept: " + names;
    return {};
  }

  /// The last eager outputs lie in set 1 of the worker's.
  Result<void> try_timed(size_t mutant, MutantTrial& trial) {
    auto applies = session_.mutant(0, static_cast<uint32_t>(mutant), deadline_);
    if (!applies) return tl::unexpected(applies.error());
    if (!*applies) return {};
    record_trial(trial, bench_.compare_with_worker(Side::worker, 0, 1, bound_));
    if (trial.caught || !trial.lost) return {};
    if (auto done = session_.reference(0, deadline_); !done) return done;
    record_exact(trial, bench_.compare_with_reference(Side::worker, 0, bound_));
    return {};
  }

  Result<void> time_baselines() {
    say("timing the baselines");
    std::vector<double> eager, compiled;
    for (int i = 0; i < 2 * baseline_calls; ++i) {
      if (auto ready = prepare(Distribution::dense); !ready) return ready;
      if (auto done = baseline(i % 2 == 1); !done) return done;
      (i % 2 == 1 ? compiled : eager).push_back(charged_ms_);
      if (auto done = session_.forget(deadline_); !done) return done;
      if (i % 2 == 0) continue;
      const auto fresh = [this] { return prepare(Distribution::dense); };
      if (auto done = further_->time_each(fresh); !done) return done;
    }
    record_.further = further_->facts();
    TaskFacts& facts = record_.facts;
    facts.eager_ms = median(eager);
    facts.compile_ms = median(compiled);
    double written = 0;
    for (const TensorSpec& spec : facts.signature.tensors) {
      const auto bytes = static_cast<double>(tensor_bytes(spec));
      facts.bytes_moved += bytes;
      if (spec.role == TensorRole::output) written += bytes;
    }
    facts.flops = description_.flops;
    facts.roofline_ms = roofline_floor_ms(written, job_.machine.limits);
    return {};
  }

  const IngestJob& job_;
  const TaskDescription& description_;
  Bench& bench_;
  WorkerSession& session_;
  std::unique_ptr<CallMeter> meter_;
  Deadline deadline_;
  StreamKey key_{};
  uint64_t contents_ = 0;
  BoundRule bound_ = bound_for(spread_evaluations);
  double charged_ms_ = 0;  // of the last baseline call
  std::vector<MutantTrial> trials_;
  std::string doing_;
  std::optional<FurtherTrials> further_;
  IngestRecord record_;
};

Result<IngestRecord> refused(std::string why) {
  IngestRecord record;
  record.refusal = std::move(why);
  return record;
}

bool is_float(Dtype dtype) {
  return unit_of(dtype) != 0;
}

/// Names the phase in which the worker failed. A refusal needs none.
Error failed_in(const std::string& phase, Error error, std::chrono::milliseconds patience) {
  if (error.code == ErrorCode::invalid_argument) return error;
  if (error.code == ErrorCode::timeout) {
    error.message = "the reference worker did not answer within " +
                    std::to_string((patience.count() + 500) / 1000) + " s";
  }
  error.message = phase + ": " + error.message;
  return error;
}

Result<IngestRecord> refused_or(Error error) {
  if (error.code == ErrorCode::invalid_argument) return refused(std::move(error.message));
  return tl::unexpected(std::move(error));
}

Result<IngestRecord> measure(const IngestJob& job, const TaskDescription& description,
                             FurtherBaselines& further, Deadline deadline) {
  const auto patience = deadline.left();
  Result<std::optional<DeviceLease>> held = std::nullopt;
  if (job.lease) held = job.lease(deadline);
  if (!held) return tl::unexpected(held.error());
  auto bench = job.make_bench(description.signature);
  if (!bench) return refused_or(bench.error());
  auto seed = draw_seed();
  if (!seed) return tl::unexpected(seed.error());
  auto session = enter_with(job.worker, job.task, (*bench)->session_memory(),
                            {spread_evaluations, seed->seed}, further, deadline);
  if (!session) return tl::unexpected(session.error());
  Ingest ingest(job, description, **bench, *session, further, deadline);
  auto record = ingest.run(seed->key());
  if (!record) {
    const Error cause = job.worker.with_cause(record.error(), *session);
    return tl::unexpected(failed_in(ingest.doing(), cause, patience));
  }
  if (auto left = session->leave(deadline); !left) return tl::unexpected(left.error());
  if (auto ended = job.worker.finish(deadline); !ended) return tl::unexpected(ended.error());
  return record;
}

}  // namespace

Result<std::unique_ptr<Bench>> make_host_bench(const TaskSignature& signature) {
  auto made = HostBench::create(signature);
  if (!made) return tl::unexpected(made.error());
  return std::move(*made);
}

std::vector<InputRule> rules_for(const TaskDescription& description, Domain domain) {
  std::vector<InputRule> rules;
  for (size_t i = 0; i < description.signature.tensors.size(); ++i) {
    const TensorSpec& spec = description.signature.tensors[i];
    const ValueSummary& value = description.values[i];
    if (spec.role == TensorRole::output) break;
    InputRule rule{.parameter = spec.role == TensorRole::parameter,
                   .drawn = !is_float(spec.dtype),
                   .mean = value.mean,
                   .deviation = value.deviation,
                   .non_negative = value.low >= 0};
    const bool unit = value.low >= 0 && value.high <= 1;
    if (domain == Domain::unit && unit) {
      rule.domain = Domain::unit;
    } else if (domain != Domain::free && value.low >= 0) {
      rule.domain = Domain::non_negative;
    }
    rules.push_back(rule);
  }
  return rules;
}

Result<IngestRecord> ingest_task(const IngestJob& job, Deadline deadline) {
  const auto whole = std::min(deadline.left(), job.budget);
  const auto first = std::min(deadline.left(), job.budget / loading_share);
  const Deadline end = Deadline::after(whole);
  if (job.progress) job.progress(job.task.id + ": loading");
  auto description = job.worker.load(job.task, Deadline::after(first));
  if (!description) return refused_or(failed_in("loading", description.error(), first));
  FurtherBaselines none;
  if (job.scope == IngestScope::verified) return measure(job, *description, none, end);
  if (job.progress) job.progress(job.task.id + ": torch.compile");
  auto compiled = job.worker.compile(job.task, Baseline::compiled, end);
  if (!compiled) return refused_or(failed_in("torch.compile", compiled.error(), whole));
  std::map<Baseline, double> seconds;
  FurtherBaselines& further = job.further != nullptr ? *job.further : none;
  if (auto ready = make_ready(job.worker, job.task, further, end, job.progress, &seconds); !ready) {
    return tl::unexpected(std::move(ready.error()));
  }
  auto record = measure(job, *description, further, end);
  if (!record) return record;
  for (BaselineFacts& facts : record->further) facts.seconds = seconds[facts.which];
  return record;
}

}  // namespace warpsmith::sandbox
