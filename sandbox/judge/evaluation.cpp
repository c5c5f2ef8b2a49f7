// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/evaluation.hpp"

#include <algorithm>

#include "sandbox/judge/evaluation_stay.hpp"
#include "sandbox/judge/further_trials.hpp"
#include "sandbox/judge/memory_hog.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds load_patience{30};  // the code may import any module

/// Skips evaluations whose spread the bound does not use.
int evaluations_of(Numerics numerics) {
  return numerics == Numerics::paper ? 0 : spread_evaluations;
}

/// Seeds integer and boolean inputs.
uint64_t draw_seed_of(const EvaluationJob& job) {
  return job.seed.seed ^ job.seed.salt[0] ^ job.contents_before;
}

/// The verifier's clock includes a host candidate's launches, so it must include the baselines'
/// too.
SessionOptions session_options(const EvaluationJob& job) {
  return {.evaluations = evaluations_of(job.numerics),
          .draw_seed = draw_seed_of(job),
          .by_clock = job.on_device && job.stage != nullptr};
}

/// A candidate's process that cannot start must not count as a failure of the reference worker.
Error start_error(Error error) {
  const bool lost = error.code == ErrorCode::infrastructure || error.code == ErrorCode::peer_lost;
  if (lost) error.code = ErrorCode::process_failed;
  error.message = "the candidate's process: " + error.message;
  return error;
}

/// Starts the candidate's process, without its code.
Result<Contestant> started_candidate(const EvaluationJob& job, EvaluationOutcome& outcome,
                                     Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "start");
  job.bench.renew();
  auto candidate = job.start_candidate(deadline);
  if (!candidate) return tl::unexpected(start_error(std::move(candidate.error())));
  outcome.jail = candidate->process().report();
  outcome.candidate_noop_ms = in_ms(candidate->noop());
  return candidate;
}

/// Loads the candidate's code. A fault goes to the outcome.
void load(const EvaluationJob& job, CandidateCalls& calls, EvaluationOutcome& outcome,
          Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "start");
  const Deadline by = job.stage == nullptr
                          ? patience_with(job, deadline)
                          : Deadline::after(std::min<milliseconds>(deadline.left(), load_patience));
  outcome.measured.early = calls.load(by).fault;
}

using HeldLease = std::optional<DeviceLease>;

/// Leases the device for this evaluation alone; does nothing where no device is shared.
Result<void> acquire_lease(const EvaluationJob& job, HeldLease& held, EvaluationOutcome& outcome,
                           Deadline deadline) {
  if (held || !job.lease) return {};
  const PhaseClock clock(outcome.phase_ms, "wait");
  auto lease = job.lease(deadline);
  if (!lease) return tl::unexpected(std::move(lease.error()));
  held = std::move(*lease);
  return {};
}

void release_lease(const EvaluationJob& job, HeldLease& held, EvaluationOutcome& outcome) {
  if (held && job.on_device) outcome.device_held_ms = held->held_ms();
  held.reset();
}

Result<WorkerSession> entered(const EvaluationJob& job, FurtherBaselines& further,
                              EvaluationOutcome& outcome, Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "session");
  return enter_with(job.worker, job.task, job.bench.session_memory(), session_options(job), further,
                    deadline);
}

Result<void> calibrate(WorkerSession& session, EvaluationOutcome& outcome, Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "session");
  return session.calibrate(deadline);
}

Result<void> leave(const EvaluationJob& job, WorkerSession& session, EvaluationOutcome& outcome,
                   Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "end");
  if (auto left = session.leave(deadline); !left) {
    return tl::unexpected(job.worker.with_cause(left.error(), session));
  }
  if (auto ended = job.worker.finish(deadline); !ended) return tl::unexpected(ended.error());
  return {};
}

/// Requires a calibrated session. A staged candidate's code is loaded last, because its process may
/// take device memory or leave work running, which must affect neither the references nor the
/// baselines' times.
Result<void> verify_and_time(const EvaluationJob& job, CandidateCalls& calls,
                             WorkerSession& session, FurtherBaselines& further,
                             EvaluationOutcome& outcome, Deadline deadline) {
  EvaluationStay evaluation(job, calls, session, further, outcome, deadline);
  if (job.stage != nullptr) {
    if (job.timed && job.on_device) {
      if (auto done = evaluation.time_undisturbed(); !done) return done;
    }
    load(job, calls, outcome, deadline);
  }
  return outcome.measured.early ? Result<void>{} : evaluation.run();
}

/// Verifies and times the candidate in a session of the worker. Shared memory is mapped before the
/// lease and unmapped after it, because mapping takes the driver's lock, which blocks all contexts
/// of this machine. A candidate that may still run keeps the lease until it has ended.
Result<void> measure(const EvaluationJob& job, CandidateCalls& calls, HeldLease& held,
                     EvaluationOutcome& outcome, Deadline deadline) {
  FurtherBaselines none;
  FurtherBaselines& further = job.timed && job.further != nullptr ? *job.further : none;
  auto session = entered(job, further, outcome, deadline);
  if (!session) return tl::unexpected(session.error());
  auto done = acquire_lease(job, held, outcome, deadline);
  if (done) done = calibrate(*session, outcome, deadline);
  if (!done) return tl::unexpected(job.worker.with_cause(done.error(), *session));
  const uint64_t free_before = job.free_memory ? job.free_memory() : 0;
  done = verify_and_time(job, calls, *session, further, outcome, deadline);
  if (!done) {
    Error cause = job.worker.with_cause(done.error(), *session);
    if (job.stage != nullptr && job.free_memory) {
      outcome.measured.early =
          killed_as_hog(calls.candidate(), job.free_memory, free_before, deadline);
    }
    return outcome.measured.early ? Result<void>{} : tl::unexpected(std::move(cause));
  }
  if (job.stage == nullptr && !ended_badly(outcome.measured)) release_lease(job, held, outcome);
  return leave(job, *session, outcome, deadline);
}

std::vector<Fault> faults_of(const Measurements& measured) {
  std::vector<Fault> faults;
  const auto take = [&](const std::optional<Fault>& fault) {
    if (fault) faults.push_back(*fault);
  };
  take(measured.early);
  for (const VerifiedSet& set : measured.sets) take(set.fault);
  if (measured.timings) take(measured.timings->fault);
  return faults;
}

/// The error if a call ended for a reason outside the candidate. A plan's use of a device is
/// limited to far less than its memory, so where memory ran out, other processes hold it.
std::optional<Error> outside_failure(const EvaluationJob& job, const Measurements& measured) {
  const bool by_plan = job.on_device && job.stage == nullptr;
  for (const Fault& fault : faults_of(measured)) {
    const bool full = by_plan && fault.outcome == VerdictClass::out_of_memory;
    if (!fault.ours && !full) continue;
    const std::string why = full ? fault.detail : "something outside killed it";
    return Error{ErrorCode::process_failed, "the candidate's process: " + why};
  }
  return std::nullopt;
}

void end(const EvaluationJob& job, Contestant candidate, const Measurements& measured,
         Deadline deadline) {
  if (job.keep_candidate && !ended_badly(measured)) {
    return job.keep_candidate(std::move(candidate), deadline);
  }
  (void)candidate.process().kill();
}

/// Acquires the lease first: a candidate that failed while loading did not hold it.
Result<void> check_device(const EvaluationJob& job, HeldLease& held, EvaluationOutcome& outcome,
                          Deadline deadline) {
  if (!job.check_device || !ended_badly(outcome.measured)) return {};
  if (auto done = acquire_lease(job, held, outcome, deadline); !done) return done;
  const PhaseClock clock(outcome.phase_ms, "health");
  return job.check_device(deadline);
}

/// Ends the candidate's process first and releases the device last.
Result<void> conclude(const EvaluationJob& job, Contestant candidate, HeldLease& held,
                      EvaluationOutcome& outcome, Deadline deadline) {
  {
    const PhaseClock clock(outcome.phase_ms, "end");
    end(job, std::move(candidate), outcome.measured, deadline);
  }
  auto well = check_device(job, held, outcome, deadline);
  release_lease(job, held, outcome);
  return well;
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
  HeldLease held;
  // A candidate's own process may use the device as soon as it is loaded.
  if (job.stage != nullptr) {
    if (auto done = acquire_lease(job, held, outcome, deadline); !done) {
      return tl::unexpected(done.error());
    }
  }
  auto candidate = started_candidate(job, outcome, deadline);
  if (!candidate) return tl::unexpected(candidate.error());
  CandidateCalls calls(job, *candidate);
  if (job.stage == nullptr) load(job, calls, outcome, deadline);
  if (!outcome.measured.early) {
    if (auto done = measure(job, calls, held, outcome, deadline); !done) {
      return tl::unexpected(done.error());
    }
  }
  if (auto error = outside_failure(job, outcome.measured)) return tl::unexpected(std::move(*error));
  outcome.stage = calls.facts();
  if (auto done = conclude(job, std::move(*candidate), held, outcome, deadline); !done) {
    return tl::unexpected(done.error());
  }
  return outcome;
}

}  // namespace warpsmith::sandbox
