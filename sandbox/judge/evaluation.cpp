// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/evaluation.hpp"

#include <algorithm>

#include "sandbox/judge/device_memory.hpp"
#include "sandbox/judge/evaluation_session.hpp"
#include "sandbox/judge/further_trials.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds load_patience{30};  // the code may import any module

/// Seeds integer and boolean inputs.
uint64_t draw_seed_of(const EvaluationJob& job) {
  return job.seed.seed ^ job.seed.salt[0] ^ job.contents_before;
}

/// The verifier's clock includes a host candidate's launches, so it must include the baselines'
/// too.
SessionOptions session_options(const EvaluationJob& job) {
  return {.evaluations = spread_evaluations,
          .draw_seed = draw_seed_of(job),
          .by_clock = job.on_device && job.stage != nullptr};
}

/// The failure of the candidate's process, not of the reference worker.
Failure of_candidate(Failure failure) {
  const bool lost =
      failure.code == ErrorCode::infrastructure || failure.code == ErrorCode::peer_lost;
  if (lost) failure.code = ErrorCode::process_failed;
  failure.message = "the candidate's process: " + failure.message;
  return failure;
}

/// Starts the candidate's process, without its code.
OrFailure<Contestant> started_candidate(const EvaluationJob& job, EvaluationOutcome& outcome,
                                        Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "start");
  job.bench.renew();
  auto candidate = job.start_candidate(deadline);
  if (!candidate) return tl::unexpected(of_candidate(std::move(candidate.error())));
  outcome.jail = candidate->process().report();
  outcome.candidate_noop_ms = in_ms(candidate->noop());
  return candidate;
}

std::vector<Fault> faults_of(const Measurements& measured) {
  std::vector<Fault> faults;
  const auto take = [&](const std::optional<Fault>& fault) {
    if (fault) faults.push_back(*fault);
  };
  take(measured.early);
  for (const VerifiedSet& set : measured.sets) take(set.fault);
  for (const VerifiedSet& set : measured.strict_sets) take(set.fault);
  if (measured.timings) take(measured.timings->fault);
  return faults;
}

/// Fails if a call ended for a reason outside the candidate. A plan's use of a device is limited to
/// far less than its memory, so if memory ran out, other processes have it.
OrFailure<void> check_blame(const EvaluationJob& job, const Measurements& measured) {
  const bool by_plan = job.on_device && job.stage == nullptr;
  for (const Fault& fault : faults_of(measured)) {
    const bool full = by_plan && fault.outcome == VerdictClass::out_of_memory;
    const Blame blame = full ? Blame::machine : fault.blame;
    if (blame == Blame::candidate) continue;
    const ErrorCode code =
        blame == Blame::deadline ? ErrorCode::timeout : ErrorCode::process_failed;
    return tl::unexpected(of_candidate({blame, code, fault.detail}));
  }
  return {};
}

/// Loads the candidate's code. Its fault goes to the outcome.
OrFailure<void> load(const EvaluationJob& job, CandidateCalls& calls, EvaluationOutcome& outcome,
                     Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "start");
  const milliseconds most = job.stage == nullptr ? first_patience(job) : load_patience;
  outcome.measured.early = calls.load({Blame::candidate, most, deadline}).fault;
  return check_blame(job, outcome.measured);
}

using HeldLease = std::optional<DeviceLease>;

/// Leases the device exclusively for this evaluation; does nothing if no device is shared.
OrFailure<void> acquire_lease(const EvaluationJob& job, HeldLease& held, EvaluationOutcome& outcome,
                              Deadline deadline) {
  if (held || !job.lease) return {};
  const PhaseClock clock(outcome.phase_ms, "wait");
  TRY(auto lease, job.lease(deadline));
  held = std::move(lease);
  return {};
}

void release_lease(const EvaluationJob& job, HeldLease& held, EvaluationOutcome& outcome) {
  if (held && job.on_device) outcome.device_held_ms = held->held_ms();
  held.reset();
}

OrFailure<WorkerSession> entered(const EvaluationJob& job, FurtherBaselines& further,
                                 EvaluationOutcome& outcome, Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "session");
  return enter_with_baselines(job.worker, job.task, job.bench.session_memory(),
                              session_options(job), further, deadline);
}

OrFailure<void> calibrate(WorkerSession& session, EvaluationOutcome& outcome, Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "session");
  return session.calibrate(deadline);
}

OrFailure<void> leave(const EvaluationJob& job, WorkerSession& session, EvaluationOutcome& outcome,
                      Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "end");
  if (auto left = session.leave(deadline); !left) {
    return tl::unexpected(job.worker.with_cause(left.error(), session));
  }
  TRY_VOID(job.worker.finish(deadline));
  return {};
}

/// Requires a calibrated session. A staged candidate's code is loaded last, because its process may
/// take device memory or leave work running, which must affect neither the references nor the
/// baselines' times.
OrFailure<void> verify_and_time(const EvaluationJob& job, CandidateCalls& calls,
                                WorkerSession& session, FurtherBaselines& further,
                                EvaluationOutcome& outcome, Deadline deadline) {
  EvaluationSession evaluation(job, calls, session, further, outcome, deadline);
  if (job.stage != nullptr) {
    if (job.timed && job.on_device) {
      TRY_VOID(evaluation.time_undisturbed());
    }
    TRY_VOID(load(job, calls, outcome, deadline));
  }
  if (outcome.measured.early) return {};
  TRY_VOID(evaluation.run());
  return check_blame(job, outcome.measured);
}

/// Verifies and times the candidate in a session of the worker. Shared memory is mapped before the
/// lease and unmapped after it, because mapping takes the driver's lock, which blocks all contexts
/// of this machine. A candidate that may still run keeps the lease until it has ended.
OrFailure<void> measure(const EvaluationJob& job, CandidateCalls& calls, HeldLease& held,
                        EvaluationOutcome& outcome, Deadline deadline) {
  FurtherBaselines none;
  FurtherBaselines& further = job.timed && job.further != nullptr ? *job.further : none;
  TRY(auto session, entered(job, further, outcome, deadline));
  auto done = acquire_lease(job, held, outcome, deadline);
  if (done) done = calibrate(session, outcome, deadline);
  if (!done) return tl::unexpected(job.worker.with_cause(done.error(), session));
  const uint64_t free_before = job.free_memory ? job.free_memory() : 0;
  done = verify_and_time(job, calls, session, further, outcome, deadline);
  if (!done) {
    Failure cause = job.worker.with_cause(done.error(), session);
    if (job.stage != nullptr && job.free_memory) {
      outcome.measured.early =
          killed_as_hog(calls.candidate(), job.free_memory, free_before, deadline);
    }
    return outcome.measured.early ? OrFailure<void>{} : tl::unexpected(std::move(cause));
  }
  if (job.stage == nullptr && !ended_badly(outcome.measured)) release_lease(job, held, outcome);
  return leave(job, session, outcome, deadline);
}

void end(const EvaluationJob& job, Contestant candidate, const Measurements& measured,
         Deadline deadline) {
  if (job.keep_candidate && !ended_badly(measured)) {
    return job.keep_candidate(std::move(candidate), deadline);
  }
  (void)candidate.process().kill();
}

/// Acquires the lease first: a candidate that failed while loading did not hold it.
OrFailure<void> check_device(const EvaluationJob& job, HeldLease& held, EvaluationOutcome& outcome,
                             Deadline deadline) {
  if (!job.check_device || !ended_badly(outcome.measured)) return {};
  TRY_VOID(acquire_lease(job, held, outcome, deadline));
  const PhaseClock clock(outcome.phase_ms, "health");
  TRY_VOID(job.check_device(deadline));
  return {};
}

/// Ends the candidate's process first and releases the device last.
OrFailure<void> conclude(const EvaluationJob& job, Contestant candidate, HeldLease& held,
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
  const auto any_fault = [](const std::vector<VerifiedSet>& sets) {
    return std::ranges::any_of(sets, [](const VerifiedSet& set) { return set.fault.has_value(); });
  };
  return measured.early || (measured.timings && measured.timings->fault) ||
         any_fault(measured.sets) || any_fault(measured.strict_sets);
}

OrFailure<EvaluationOutcome> run_evaluation(const EvaluationJob& job, Deadline deadline) {
  EvaluationOutcome outcome{.numerics = job.settings.numerics};
  outcome.measured.on_device = job.on_device;
  HeldLease held;
  // A candidate's own process may use the device as soon as it is loaded.
  if (job.stage != nullptr) {
    TRY_VOID(acquire_lease(job, held, outcome, deadline));
  }
  TRY(auto candidate, started_candidate(job, outcome, deadline));
  CandidateCalls calls(job, candidate);
  if (job.stage == nullptr) {
    TRY_VOID(load(job, calls, outcome, deadline));
  }
  if (!outcome.measured.early) {
    TRY_VOID(measure(job, calls, held, outcome, deadline));
  }
  outcome.stage = calls.facts();
  TRY_VOID(conclude(job, std::move(candidate), held, outcome, deadline));
  return outcome;
}

}  // namespace warpsmith::sandbox
