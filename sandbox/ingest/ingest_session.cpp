// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ingest/ingest_session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "runtime/median.hpp"
#include "runtime/text.hpp"
#include "sandbox/ingest/input_plans.hpp"
#include "sandbox/judge/exact_comparison.hpp"

namespace warpsmith::sandbox {
namespace {

// If a set takes longer than this, distributions are tried only until enough are kept: deep
// recurrent networks would take minutes for all.
constexpr std::chrono::seconds slow_set{5};

// The least number of timed outputs that an evaluation checks.
constexpr int timed_sets = 9;

// An ingest uses only buffer set 0, so that a task needs memory for no second one. The candidate's
// outputs there keep eager's, because no candidate exists.
constexpr Outputs of_eager{Side::candidate}, of_worker{Side::worker};

/// The number of phases if the first plan of inputs is taken: two for each distribution, dense
/// inputs, and of a whole ingest the bound, the gate and the times of timed calls.
int planned_phases(IngestScope scope) {
  const int inputs = 2 * static_cast<int>(verified_distributions.size()) + 1;
  return scope == IngestScope::whole ? inputs + 3 : inputs;
}

constexpr int most_calibrations = 5;

// Draws of a distribution on which eager must stay finite; fewer where a set takes long.
constexpr int proofs = 30, few_proofs = 5;

// Dense sets on which the exact results of mutants that no set caught are compared.
constexpr int effect_sets = 3;

CallMeter meter_of(const IngestJob& job, WorkerSession& session) {
  if (job.on_device) return CallMeter::by_device(session.pid(), session.device_noop());
  return CallMeter::by_core(session.pid(), session.noop());
}

// With half types, one set in seven distinguishes a softmax's element from its neighbour, and the
// last of a thousand terms is the largest in one set of two. So many sets refuse no task by chance,
// and a submission that bets on such a set loses within a few tries.
constexpr int most_sets = 4 * timed_sets;

constexpr const char* tf32_precision = "tf32";

// Deep networks have hundreds of parameters to drop. If there are more mutants than this, one
// run of each serves both checks.
constexpr size_t many_mutants = 64;
constexpr const char* dropped_prefix = "dropped_";

// A lower precision with an error of so many exact bounds is detected surely, not by chance.
constexpr double clearly_detected = 2;

/// Whether all outputs have half types.
bool has_half_outputs(const TaskSignature& signature) {
  return std::ranges::all_of(signature.tensors, [](const TensorSpec& spec) {
    return spec.role != TensorRole::output || unit_of(spec.dtype) > unit_of(Dtype::f32);
  });
}

constexpr int most_profile_sets = 4;            // dense sets for a profile
constexpr size_t elements_of_entry = 4UL * 64;  // seen by an entry of a profile, over all sets
constexpr int baseline_calls = 11;              // of each baseline
constexpr int long_calls = 5;                   // of each baseline whose calls take long
constexpr double long_ms = 100;
constexpr double least_ms = 1e-3;  // shorter times are lost in the noise of an empty call

/// The operations that the machine's rate for float32 bounds: none if narrower arithmetic may
/// compute them.
double float32_flops(const Task& task, const TaskDescription& description) {
  const auto& tensors = description.signature.tensors;
  const bool narrow = std::ranges::any_of(
      tensors, [](const TensorSpec& spec) { return unit_of(spec.dtype) > unit_of(Dtype::f32); });
  return narrow || task.lane == PrecisionLane::tf32_allowed ? 0 : description.flops;
}

}  // namespace

IngestSession::IngestSession(const IngestJob& job, const TaskDescription& description, Bench& bench,
                             WorkerSession& session, FurtherBaselines& further, DeviceTurns& turns)
    : job_(job),
      description_(description),
      bench_(bench),
      session_(session),
      meter_(meter_of(job, session)),
      turns_(turns),
      further_(TrialContext{session, bench, meter_, turns.patience()}, further) {}

OrFailure<IngestRecord> IngestSession::run(const StreamKey& key) {
  key_ = key;
  record_.facts.signature = description_.signature;
  record_.worker_bytes = description_.worker_bytes;
  TRY_VOID(run_steps(strict_steps()));
  if (job_.settings.numerics == Numerics::paper) std::swap(record_.refusal, record_.strict_refusal);
  if (!record_.refusal.empty()) return record_;
  TRY_VOID(run_steps(further_steps()));
  return record_;
}

/// Takes steps until one refuses the task.
OrFailure<void> IngestSession::run_steps(const std::vector<Step>& steps) {
  for (const Step step : steps) {
    TRY_VOID((this->*step)());
    if (!record_.refusal.empty()) break;
  }
  return {};
}

/// What `strict` needs.
std::vector<IngestSession::Step> IngestSession::strict_steps() const {
  std::vector<Step> steps{&IngestSession::choose_inputs, &IngestSession::gate};
  if (job_.scope == IngestScope::whole) steps.push_back(&IngestSession::calibrate_dense);
  return steps;
}

std::vector<IngestSession::Step> IngestSession::further_steps() const {
  std::vector<Step> steps;
  if (job_.settings.numerics == Numerics::paper) steps.push_back(&IngestSession::gate_paper);
  if (job_.scope == IngestScope::whole) steps.push_back(&IngestSession::time_baselines);
  return steps;
}

void IngestSession::report(const std::string& what) {
  if (what == phase_) return;
  phase_ = what;
  const auto elapsed = SteadyClock::now() - began_;
  const int done = phases_++, planned = std::max(planned_phases(job_.scope), phases_);
  if (!job_.progress) return;
  std::string text = fmt::format("{}: checking: {} of {}", job_.task.id, phases_, planned);
  if (done > 0) text += ", about " + duration_text(elapsed / done * (planned - done)) + " left";
  job_.progress(text);
}

/// Writes new contents into set 0, as `strict` does.
OrFailure<void> IngestSession::prepare(Distribution distribution) {
  return fill(distribution, record_.rules);
}

OrFailure<void> IngestSession::fill(Distribution distribution,
                                    const std::vector<InputRule>& rules) {
  TRY_VOID(turns_.compute());
  if (std::ranges::any_of(rules, &InputRule::drawn)) {
    TRY_VOID(session_.draw(turns_.patience()));
    bench_.take_drawn(0, rules);
  }
  bench_.fill(0, {key_, ++contents_, distribution}, rules);
  return {};
}

/// Makes the reference of set 0, unless it exists: only a draw overwrites it.
OrFailure<void> IngestSession::make_reference() {
  if (referenced_ == contents_) return {};
  TRY_VOID(turns_.compute());
  TRY_VOID(session_.reference(0, turns_.patience()));
  referenced_ = contents_;
  return {};
}

/// Calls eager and keeps its outputs (`of_eager`).
OrFailure<void> IngestSession::keep_eager() {
  TRY_VOID(baseline(false));
  TRY_VOID(session_.collect(0, turns_.patience()));
  bench_.copy_outputs(of_worker, of_eager);
  return {};
}

/// The worker's outputs.
OrFailure<ErrorStats> IngestSession::compare_with_reference() {
  TRY_VOID(make_reference());
  return compare_exactly(bench_, session_, of_worker, 0, bound_, turns_.patience());
}

/// The worker's outputs by the bound of timed calls, and if they are beyond it and `exactly` is
/// set, with the reference, as an evaluation does.
OrFailure<ErrorStats> IngestSession::compare_with_eager(bool exactly) {
  const ErrorStats quick = bench_.compare_outputs(of_worker, of_eager, bound_);
  return quick.right() || !exactly ? quick : compare_with_reference();
}

/// Whether eager stays finite on many draws, so that the draw of an evaluation decides nothing.
OrFailure<bool> IngestSession::stays_finite(Distribution distribution) {
  const int draws = set_time_ > slow_set ? few_proofs : proofs;
  for (int i = 0; i < draws; ++i) {
    TRY_VOID(prepare(distribution));
    TRY(const bool finite, session_.is_finite(0, turns_.patience()));
    if (!finite) return false;
  }
  return true;
}

/// Other processes may have had the core or the GPU during the session's first calibration.
/// Measures the empty call again, on a core until a baseline takes longer.
OrFailure<void> IngestSession::calibrate_meter() {
  for (int tries = 0; tries < most_calibrations; ++tries) {
    TRY_VOID(session_.calibrate(turns_.patience()));
    meter_ = meter_of(job_, session_);
    if (job_.on_device) break;
    TRY_VOID(prepare(Distribution::dense));
    TRY_VOID(baseline(false));
    TRY_VOID(session_.free_outputs(turns_.patience()));
    if (charged_ms_ > 0) break;
  }
  return {};
}

OrFailure<void> IngestSession::baseline(bool compiled) {
  TRY_VOID(turns_.compute());
  const Patience& patience = turns_.patience();
  const MeteredCall call = meter_.measure(
      [&] { return compiled ? session_.compiled(0, patience) : session_.eager(0, patience); });
  if (call.fault) return tl::unexpected(failure_of(*call.fault, "baseline"));
  charged_ms_ = call.charged_ms;
  return {};
}

/// Compares eager, and its sums in other orders, with the reference.
OrFailure<IngestSession::DistributionTrial> IngestSession::try_distribution(
    Distribution distribution) {
  DistributionFacts facts{.distribution = distribution};
  TRY(const bool finite, stays_finite(distribution));
  if (!finite) return DistributionTrial{facts, not_finite};
  TRY_VOID(prepare(distribution));
  TRY_VOID(baseline(false));
  TRY_VOID(session_.collect(0, turns_.patience()));
  TRY(auto stats, compare_with_reference());
  facts.eager_error = stats.worst;
  for (uint32_t order = 0; order < description_.honest_orders.size(); ++order) {
    TRY_VOID(turns_.compute());
    TRY_VOID(session_.honest(0, order, turns_.patience()));
    TRY(const auto one, compare_with_reference());
    stats.add(one);
  }
  facts.honest_error = stats.worst;
  std::string shortfall = shortfall_of(stats);
  facts.kept = shortfall.empty();
  return DistributionTrial{facts, std::move(shortfall)};
}

/// Chooses the first plan in which enough distributions and dense inputs are kept. Mutants are
/// judged on the same contents, so that the reference is computed once for both.
OrFailure<void> IngestSession::choose_inputs() {
  std::vector<std::string> dropped;
  for (const InputPlan& plan : input_plans(description_)) {
    TRY(auto tried, try_plan(plan));
    dropped = std::move(tried);
    if (dropped.size() > plan.most_dropped) continue;
    TRY(const bool dense, try_dense(dropped));
    if (!dense) continue;
    unseen_ = unseen_by(plan, dropped);
    return {};
  }
  record_.refusal = fmt::format(
      "honest evaluations are not well within a finite bound on more than {} of {} "
      "distributions: {}",
      most_dropped, verified_distributions.size(), fmt::join(dropped, ", "));
  return {};
}

/// The distributions that are dropped, each with the reason. Ends once they are too many.
OrFailure<std::vector<std::string>> IngestSession::try_plan(const InputPlan& plan) {
  std::vector<std::string> dropped;
  record_.rules = plan.rules;
  record_.distributions.clear();
  start_gate();
  for (const Distribution distribution : verified_distributions) {
    if (dropped.size() > plan.most_dropped || is_enough()) break;
    report("input sets, " + plan.name + ", " + std::string(to_string(distribution)));
    const auto began = SteadyClock::now();
    TRY(auto tried, try_distribution(distribution));
    set_time_ = SteadyClock::now() - began;
    record_.distributions.push_back(tried.facts);
    if (!tried.facts.kept) {
      dropped.push_back(listed(distribution, tried.shortfall));
    } else {
      TRY_VOID(try_mutants(record_.distributions.back()));
    }
  }
  return dropped;
}

/// Whether no further distribution is tried, because one takes long and enough are kept.
bool IngestSession::is_enough() const {
  const auto kept = std::ranges::count_if(record_.distributions, &DistributionFacts::kept);
  return set_time_ > slow_set && std::cmp_greater_equal(kept, least_distributions);
}

/// Whether dense inputs are kept, which one verified set has; else adds them to `dropped`. Eager's
/// time there bounds a candidate's calls.
OrFailure<bool> IngestSession::try_dense(std::vector<std::string>& dropped) {
  report("input sets, dense");
  TRY(const auto tried, try_distribution(Distribution::dense));
  record_.facts.eager_ms = charged_ms_;
  dense_contents_ = contents_;
  if (!tried.facts.kept) dropped.push_back(listed(Distribution::dense, tried.shortfall));
  return tried.facts.kept;
}

void IngestSession::start_gate() {
  trials_.assign(description_.mutants.size(), {});
  const bool many = job_.scope == IngestScope::whole && trials_.size() > many_mutants;
  for (size_t m = 0; m < trials_.size(); ++m) {
    trials_[m].name = description_.mutants[m];
    trials_[m].later = many && trials_[m].name.starts_with(dropped_prefix);
  }
}

/// Ends the gate that each kept distribution's contents have passed.
OrFailure<void> IngestSession::gate() {
  TRY_VOID(exempt_without_effect(trials_));
  // An evaluation also checks its timed outputs, so a mutant may be caught on as many more sets.
  for (int i = 0; i < most_sets && !names_uncaught(trials_).empty(); ++i) {
    if (i >= timed_sets && !uncaught_never_differed(trials_)) break;
    report("mutation gate, more sets");
    TRY_VOID(try_survivors());
  }
  note_insensitive(names_uncaught(trials_));
  return {};
}

/// What the task cannot tell apart: what is known from its outputs, then wrong answers.
void IngestSession::note_insensitive(const std::string& wrong_answers) {
  std::string& all = record_.facts.insensitive;
  all = description_.insensitive;
  for (const std::string& more : {unseen_, wrong_answers}) {
    if (!more.empty()) all += (all.empty() ? "" : ", ") + more;
  }
}

/// Requires the contents of this distribution and their reference.
OrFailure<void> IngestSession::try_mutants(DistributionFacts& facts) {
  report("mutation gate, " + std::string(to_string(facts.distribution)));
  const size_t count = description_.mutants.size() + description_.lower_precisions.size();
  for (size_t m = 0; m < count; ++m) {
    // Networks have hundreds of parameters to drop; one set that shows each is enough.
    if (m < trials_.size() && trials_[m].caught && trials_[m].name != coarsest) continue;
    if (m < trials_.size() && trials_[m].later) continue;
    TRY(auto stats, judge_mutant(static_cast<uint32_t>(m)));
    if (!stats) continue;
    note_precision(facts, m, *stats);
    if (m < trials_.size()) record_trial(trials_[m], *stats);
  }
  return {};
}

/// A change that float64 does not see either is no wrong answer: a bias in front of a norm, or of a
/// layer that forward never uses.
OrFailure<void> IngestSession::exempt_without_effect(std::vector<MutantTrial>& trials) {
  for (MutantTrial& trial : trials) trial.without_effect = is_uncaught(trial);
  for (int i = 0; i < effect_sets; ++i) {
    if (std::ranges::none_of(trials, &MutantTrial::without_effect)) return {};
    report("mutation gate, effects");
    TRY_VOID(prepare(Distribution::dense));
    TRY_VOID(make_reference());
    for (size_t m = 0; m < trials.size(); ++m) {
      if (!trials[m].without_effect) continue;
      TRY_VOID(turns_.compute());
      TRY(const bool effect, session_.has_effect(0, static_cast<uint32_t>(m), turns_.patience()));
      trials[m].without_effect = !effect;
    }
  }
  return {};
}

OrFailure<void> IngestSession::try_survivors() {
  TRY_VOID(prepare(Distribution::dense));
  for (size_t m = 0; m < trials_.size(); ++m) {
    if (!is_uncaught(trials_[m])) continue;
    TRY(auto stats, judge_mutant(static_cast<uint32_t>(m)));
    if (stats) record_trial(trials_[m], *stats);
  }
  return {};
}

OrFailure<std::optional<ErrorStats>> IngestSession::judge_mutant(uint32_t index) {
  TRY_VOID(turns_.compute());
  TRY(auto applies, session_.mutant(0, index, turns_.patience()));
  if (!applies) return std::optional<ErrorStats>{};
  TRY(const auto stats, compare_with_reference());
  return std::optional{stats};
}

void IngestSession::note_precision(DistributionFacts& facts, size_t mutant,
                                   const ErrorStats& stats) const {
  const auto& mutants = description_.mutants;
  const std::string& name = mutant < mutants.size()
                                ? mutants[mutant]
                                : description_.lower_precisions[mutant - mutants.size()];
  if (name == coarsest) facts.bf16_error = stats.worst;
  if (name == tf32_precision) facts.tf32_error = stats.worst;
}

/// Whether the exact bound detects a lower precision that is not a mutant. With few terms it need
/// not.
bool IngestSession::is_detected(const std::string& precision) const {
  return precision == tf32_precision &&
         std::ranges::any_of(record_.distributions,
                             [](const auto& facts) { return facts.tf32_error > clearly_detected; });
}

/// Timed outputs are compared with eager's under the looser bound of a profile, which must catch
/// the mutants too, on one of the sets that every timing has. The exact bound must catch those that
/// were left for `later` there. Mutants that the exact bound misses as well are exempt, because
/// outputs of half types round the difference away, and so is bfloat16 if TF32 products are
/// allowed, whose errors are close: the verified sets have caught both.
OrFailure<void> IngestSession::gate_timed() {
  std::vector<MutantTrial> trials(trials_);
  const bool halves = has_half_outputs(description_.signature);
  const bool tf32 = job_.task.lane == PrecisionLane::tf32_allowed;
  for (MutantTrial& trial : trials) {
    trial = {.name = trial.name,
             .applies = trial.later || (trial.caught && !trial.without_effect),
             .later = trial.later,
             .lost = halves};
    trial.caught = tf32 && trial.name == coarsest;
  }
  for (const std::string& name : description_.lower_precisions) {
    trials.push_back({.name = name, .applies = !tf32 && is_detected(name), .lost = halves});
  }
  for (int i = 0; i < most_sets && any_uncaught(trials); ++i) {
    if (i == timed_sets) drop_lost(trials);
    if (i >= timed_sets && !halves && !uncaught_seldom_differ(trials, i)) break;
    report("mutation gate, timed outputs");
    TRY_VOID(prepare(Distribution::dense));
    TRY_VOID(keep_eager());
    for (size_t m = 0; m < trials.size(); ++m) {
      if (!is_uncaught(trials[m])) continue;
      TRY_VOID(try_timed(m, trials[m]));
    }
    if (i == 0) {
      TRY_VOID(exempt_without_effect(trials));
    }
  }
  for (size_t m = 0; m < trials_.size(); ++m) {
    trials_[m].without_effect |= trials[m].without_effect;
  }
  const std::string names = names_uncaught(trials_), timed = names_uncaught(trials);
  note_insensitive(names.empty() && !timed.empty() ? "in timed calls " + timed : names);
  return {};
}

/// Requires that eager's outputs are kept.
OrFailure<void> IngestSession::try_timed(size_t mutant, MutantTrial& trial) {
  TRY_VOID(turns_.compute());
  TRY(auto applies, session_.mutant(0, static_cast<uint32_t>(mutant), turns_.patience()));
  if (!applies) return {};
  TRY(const auto timed, compare_with_eager(may_contain_indices(description_.signature)));
  record_trial(trial, timed);
  if (timed.worst > 0) ++trial.seen;
  if (trial.later) {
    TRY(const auto exact, compare_with_reference());
    record_trial(trials_[mutant], exact);
    trial.caught = trial.caught && trials_[mutant].caught;
  }
  if (trial.caught || !trial.lost) return {};
  TRY(const auto exact, compare_with_reference());
  record_exact(trial, exact);
  return {};
}

/// Everything in bfloat16 is not a mutant here: the tolerance is meant to allow it.
OrFailure<void> IngestSession::gate_paper() {
  std::vector<MutantTrial> trials;
  trials.reserve(description_.mutants.size());
  for (const std::string& name : description_.mutants) trials.push_back({.name = name});
  report("mutation gate, numerics paper");
  for (int i = 0; i < paper_sets; ++i) {
    TRY_VOID(fill(Distribution::normal, paper_rules(record_.rules)));
    TRY_VOID(try_paper(trials));
  }
  std::erase_if(trials, [](const MutantTrial& trial) { return trial.name == coarsest; });
  record_.weakness = names_uncaught(trials);
  return complete_for_paper();
}

/// Adds what a judgement needs and the steps of `strict` did not reach.
OrFailure<void> IngestSession::complete_for_paper() {
  TRY_VOID(baseline(false));
  if (record_.facts.eager_ms == 0) record_.facts.eager_ms = charged_ms_;
  if (!record_.profiles.empty()) return {};
  bench_.raise_profiles(record_.profiles);  // for their sizes: this tolerance follows no spread
  for (std::vector<float>& profile : record_.profiles) std::ranges::fill(profile, 0.0F);
  return {};
}

OrFailure<void> IngestSession::try_paper(std::vector<MutantTrial>& trials) {
  TRY_VOID(session_.values(0, turns_.patience()));
  const BoundRule bound = bound_for(Numerics::paper, spread_evaluations);
  for (size_t m = 0; m < trials.size(); ++m) {
    if (trials[m].caught || trials_[m].without_effect) continue;
    TRY_VOID(turns_.compute());
    TRY(auto applies, session_.mutant(0, static_cast<uint32_t>(m), turns_.patience()));
    if (applies) record_trial(trials[m], bench_.compare_with_reference(Side::worker, 0, bound));
  }
  return {};
}

/// Dense sets for the profiles: one where a set takes long. An entry stands for more elements of a
/// large output, so that fewer sets show it as many.
int IngestSession::profile_sets() const {
  if (set_time_ > slow_set) return 1;
  size_t least = elements_of_entry;
  for (const TensorSpec& spec : description_.signature.tensors) {
    if (spec.role != TensorRole::output) continue;
    least = std::min(least, profile_block_of(tensor_bytes(spec) / element_bytes(spec.dtype)));
  }
  return std::clamp(static_cast<int>(elements_of_entry / least), 1, most_profile_sets);
}

/// Measures the bound of timed calls, and whether torch.compile's outputs keep to it. The
/// contents of `try_dense` are the first of these sets if the gate needed no others.
OrFailure<void> IngestSession::calibrate_dense() {
  report("the bound of timed outputs");
  for (int i = 0; i < profile_sets(); ++i) {
    if (i > 0 || contents_ != dense_contents_) {
      TRY_VOID(prepare(Distribution::dense));
    }
    TRY_VOID(make_reference());
    bench_.raise_profiles(record_.profiles);
  }
  TRY_VOID(keep_eager());
  TRY_VOID(baseline(true));
  TRY_VOID(session_.collect(0, turns_.patience()));
  bench_.use_profiles(record_.profiles);
  TRY(const auto both, compare_with_eager(/*exactly=*/true));
  if (!both.right()) record_.facts.compile_reason = "it differs from eager on dense inputs";
  TRY_VOID(further_.check(bound_));
  return gate_timed();
}

Result<std::string> objection_to_times(double eager_ms, double compile_ms) {
  const double least = std::min(eager_ms, compile_ms);
  if (least < -least_ms) {
    return fail(ErrorCode::infrastructure,
                "a baseline took " + brief_text(-least) + " ms less than an empty call");
  }
  return least < least_ms ? "a call takes less than a microsecond: too little to time" : "";
}

OrFailure<void> IngestSession::time_baselines() {
  report("timing the baselines");
  TRY_VOID(turns_.be_alone());
  TRY_VOID(calibrate_meter());
  std::vector<double> eager, compiled;
  const int calls = record_.facts.eager_ms > long_ms ? long_calls : baseline_calls;
  for (int i = 0; i < 2 * calls; ++i) {
    TRY_VOID(prepare(Distribution::dense));
    TRY_VOID(baseline(i % 2 == 1));
    (i % 2 == 1 ? compiled : eager).push_back(charged_ms_);
    TRY_VOID(session_.free_outputs(turns_.patience()));
    if (i % 2 == 0) continue;
    const auto fresh = [this] { return prepare(Distribution::dense); };
    TRY_VOID(further_.time_each(fresh));
  }
  TRY(auto objection, objection_to_times(median(eager), median(compiled)));
  record_.refusal = std::move(objection);
  record_.further = further_.facts();
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
  facts.floor_ms = floor_ms(written, job_.machine.limits);
  facts.roofline_ms =
      roofline_ms(facts.bytes_moved, float32_flops(job_.task, description_), job_.machine.limits);
  return {};
}

}  // namespace warpsmith::sandbox
