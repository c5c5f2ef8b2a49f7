// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/evaluation.hpp"

#include <algorithm>

#include "sandbox/judge/evaluation_stay.hpp"
#include "sandbox/reference/further_trials.hpp"
#include "sandbox/reference/ingest.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds load_patience{30};  // with code that imports what it likes

/// Spreads that no bound asks for are not computed.
int evaluations_of(Numerics numerics) {
  return numerics == Numerics::paper ? 0 : spread_evaluations;
}

/// Of integer and boolean inputs.
uint64_t draw_seed_of(const EvaluationJob& job) {
  return job.seed.seed ^ job.seed.salt[0] ^ job.contents_before;
}

/// A host candidate's launches are charged to it, so those of its baselines are too.
SessionOptions session_options(const EvaluationJob& job) {
  return {.evaluations = evaluations_of(job.numerics),
          .draw_seed = draw_seed_of(job),
          .by_clock = job.on_device && job.stage != nullptr};
}

/// A candidate's process that cannot start is no failure of the reference's.
Error start_error(Error error) {
  const bool lost = error.code == ErrorCode::infrastructure || error.code == ErrorCode::peer_lost;
  if (lost) error.code = ErrorCode::process_failed;
  error.message = "the candidate's process: " + error.message;
  return error;
}

/// The candidate's process, whose code is not loaded yet.
Result<Contestant> started_candidate(const EvaluationJob& job, EvaluationOutcome& outcome,
                                     Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "start");
  // No output of an earlier candidate is ever shown to a later one.
  for (uint32_t k = 0; k < job.bench.sets(); ++k) job.bench.reset(k);
  auto candidate = job.start_candidate(deadline);
  if (!candidate) return tl::unexpected(start_error(std::move(candidate.error())));
  outcome.jail = candidate->process().report();
  outcome.candidate_noop_ms = in_ms(candidate->noop());
  return candidate;
}

/// Its code is made ready, or the fault that prevented that is in the outcome.
void load(const EvaluationJob& job, CandidateCalls& calls, EvaluationOutcome& outcome,
          Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "start");
  const Deadline by = job.stage == nullptr
                          ? patience_with(job, deadline)
                          : Deadline::after(std::min<milliseconds>(deadline.left(), load_patience));
  outcome.measured.early = calls.load(by).fault;
}

/// A stay of the worker, over which the candidate is verified and timed.
Result<void> measure(const EvaluationJob& job, CandidateCalls& calls, EvaluationOutcome& outcome,
                     Deadline deadline) {
  std::optional<WorkerSession> session;
  FurtherBaselines none;
  FurtherBaselines& further = job.timed && job.further != nullptr ? *job.further : none;
  {
    const PhaseClock clock(outcome.phase_ms, "session");
    auto entered = enter_with(job.worker, job.task, job.bench.session_memory(),
                              session_options(job), further, deadline);
    if (!entered) return tl::unexpected(entered.error());
    session.emplace(std::move(*entered));
  }
  EvaluationStay evaluation(job, calls, *session, further, outcome, deadline);
  if (auto done = evaluation.run(); !done) {
    return tl::unexpected(job.worker.with_cause(done.error(), *session));
  }
  const PhaseClock clock(outcome.phase_ms, "end");
  if (auto ended = job.worker.finish(deadline); !ended) return tl::unexpected(ended.error());
  return {};
}

/// Nothing where nothing is shared.
Result<std::optional<DeviceLease>> acquired(const EvaluationJob& job, EvaluationOutcome& outcome,
                                            Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "wait");
  return job.lease ? job.lease(deadline) : Result<std::optional<DeviceLease>>{std::nullopt};
}

/// A call that ended by nothing that the candidate did.
std::optional<Error> struck(const Measurements& measured) {
  const auto told = [](const std::optional<Fault>& fault) { return fault && fault->ours; };
  const bool any =
      told(measured.early) || (measured.timings && told(measured.timings->fault)) ||
      std::ranges::any_of(measured.sets, [&](const VerifiedSet& set) { return told(set.fault); });
  if (!any) return std::nullopt;
  return Error{ErrorCode::process_failed, "the candidate's process: something outside killed it"};
}

void end(const EvaluationJob& job, Contestant candidate, const Measurements& measured,
         Deadline deadline) {
  if (job.keep_candidate && !ended_badly(measured)) {
    return job.keep_candidate(std::move(candidate), deadline);
  }
  (void)candidate.process().kill();
}

}  // namespace

bool ended_badly(const Measurements& measured) {
  return measured.early || (measured.timings && measured.timings->fault) ||
         std::ranges::any_of(measured.sets,
                             [](const VerifiedSet& set) { return set.fault.has_value(); });
}

std::vector<InputRule> paper_rules(std::vector<InputRule> rules) {
  for (InputRule& rule : rules) rule.parameter = rule.parameter || rule.domain != Domain::unit;
  return rules;
}

Result<EvaluationOutcome> run_evaluation(const EvaluationJob& job, Deadline deadline) {
  EvaluationOutcome outcome{.numerics = job.numerics};
  Result<std::optional<DeviceLease>> held = std::nullopt;
  // A candidate's own process may work on the device as soon as it is loaded.
  const bool held_to_load = job.stage != nullptr;
  if (held_to_load) held = acquired(job, outcome, deadline);
  if (!held) return tl::unexpected(held.error());
  auto candidate = started_candidate(job, outcome, deadline);
  if (!candidate) return tl::unexpected(candidate.error());
  CandidateCalls calls(job, *candidate);
  load(job, calls, outcome, deadline);
  if (!outcome.measured.early) {
    if (!held_to_load) held = acquired(job, outcome, deadline);
    if (!held) return tl::unexpected(held.error());
    if (auto done = measure(job, calls, outcome, deadline); !done) {
      return tl::unexpected(done.error());
    }
  }
  if (auto error = struck(outcome.measured)) return tl::unexpected(std::move(*error));
  if (*held) outcome.device_held_ms = (*held)->held_ms();
  const PhaseClock clock(outcome.phase_ms, "end");
  outcome.stage = calls.facts();
  end(job, std::move(*candidate), outcome.measured, deadline);
  return outcome;
}

}  // namespace warpsmith::sandbox
