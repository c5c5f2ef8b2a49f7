// SPDX-License-Identifier: Apache-2.0
// A candidate that was made ready is judged: attempts, the decision, the verdict.
#include <algorithm>

#include "sandbox/commit/contestant.hpp"
#include "sandbox/contract/host/host_review.hpp"
#include "sandbox/evaluator/evaluator_state.hpp"
#include "sandbox/judge/evidence.hpp"
#include "sandbox/judge/phase_clock.hpp"
#include "sandbox/judge/timed_decision.hpp"
#include "sandbox/timing/bootstrap.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr const char* paper_note = " (numerics paper: within 1e-2 + 1e-2 |y|)";

/// What verifying hidden shapes adds to the record.
void add_hidden(Verdict& verdict, const RaggedResult& ragged) {
  verdict.shapes.push_back(ragged.decision.shape);
  for (const auto& [name, ms] : ragged.outcome.phase_ms) verdict.phase_ms["hidden_" + name] += ms;
  if (!ragged.outcome.device_held_ms) return;
  verdict.device_held_ms = verdict.device_held_ms.value_or(0) + *ragged.outcome.device_held_ms;
}

EvaluateRequest untimed(EvaluateRequest request) {
  request.want = Request::verify;
  return request;
}

TrustClass trust_of(const Verdict& verdict, const CandidateRun& run,
                    const EvaluationOutcome& outcome) {
  if (outcome.numerics == Numerics::paper) return TrustClass::paper;
  const auto& stage = outcome.stage;
  const bool within_share = !stage || stage->within_share;
  if (!is_full_jail(verdict.jail, run.jail) || !within_share) return TrustClass::lowered;
  return run.jail == JailKind::launch ? TrustClass::device : TrustClass::commit;
}

/// By the clock alone others' work on the core may have spoilt the candidate's calls.
bool knows_the_core(const EvaluationOutcome& outcome) {
  return !outcome.stage || outcome.stage->on_device;
}

}  // namespace

Decision Evaluator::State::decide_on(const EvaluateRequest& request, EvaluationOutcome& outcome,
                                     const IngestRecord& record, const CandidateRun& run,
                                     const SecretSeed& seed) {
  if (auto& timings = outcome.measured.timings) compare_with_earlier(request.task, *timings);
  RandomStream random(seed.seed, "bootstrap");
  Decision decision = decide(outcome.measured, record.facts,
                             wanted_sets(options.numerics, options.verified_sets), random);
  if (outcome.stage) {
    weigh_subtracted(*outcome.stage, decision.shape);
    if (run.review) run.review(*outcome.stage, decision);
  }
  return decision;
}

Result<Trial> Evaluator::State::try_once(const EvaluateRequest& request, const IngestRecord& record,
                                         const CandidateRun& run, const SecretSeed& seed,
                                         Deadline deadline) {
  auto ragged = verify_ragged(request, run, seed, deadline);
  if (!ragged) return tl::unexpected(std::move(ragged.error()));
  Trial trial{.ragged = std::move(*ragged)};
  auto outcome = attempt(trial.wrong_there() ? untimed(request) : request, record, run, seed,
                         Shapes::shown, deadline);
  if (!outcome) return tl::unexpected(std::move(outcome.error()));
  trial.shown = std::move(*outcome);
  {
    const PhaseClock clock(trial.shown.phase_ms, "decision");
    trial.decision = decide_on(request, trial.shown, record, run, seed);
  }
  return trial;
}

Judgement Evaluator::State::conclude(const EvaluateRequest& request, Verdict verdict, Trial trial,
                                     const IngestRecord& record, const CandidateRun& run,
                                     const SecretSeed& seed, Deadline deadline) {
  const bool only_there = trial.wrong_there() && trial.decision.outcome == VerdictClass::passed;
  const Decision& decisive = only_there ? trial.ragged->decision : trial.decision;
  verdict.outcome = decisive.outcome;
  verdict.feedback = decisive.feedback;
  if (options.numerics == Numerics::paper) verdict.feedback += paper_note;
  verdict.shapes = {std::move(trial.decision.shape)};
  verdict.jail = std::move(trial.shown.jail);
  verdict.trust = trust_of(verdict, run, trial.shown);
  verdict.device_held_ms = trial.shown.device_held_ms;
  if (trial.ragged) add_hidden(verdict, *trial.ragged);
  verdict.evidence = evidence_json(trial.shown, record, seed, machine,
                                   trial.ragged ? &trial.ragged->outcome : nullptr);
  const bool asked = request.want == Request::profile || run.custom_kernels_only;
  if (gpu && asked && verdict.correct()) {
    const auto looked = look_at_kernels(request, record, run, verdict, deadline);
    if (!looked) return infra_of(looked.error(), InfraKind::sandbox_lost);
  }
  return verdict;
}

Judgement Evaluator::State::judge(const EvaluateRequest& request, Verdict verdict,
                                  const CandidateRun& run, Deadline deadline) {
  auto record = record_of(request.task, deadline);
  if (!record) return infra_of(record.error(), InfraKind::reference_failed);
  const FurtherBaselines& wanted = further_of(request.task, **record);
  // One more for each further baseline that is dropped with its worker.
  const int most = 2 + static_cast<int>(wanted.left().size());
  for (int attempts = 0; attempts < most; ++attempts) {
    const size_t before = wanted.left().size();
    const auto seed = draw_seed();
    if (!seed) return infra_of(seed.error(), InfraKind::sandbox_lost);
    verdict.seed_commitment = seed->commitment(verdict.submission_hash);
    auto trial = try_once(request, **record, run, *seed, deadline);
    if (!trial) {
      worker.reset();  // its state is unknown
      const bool again = attempts == 0 || wanted.left().size() < before;
      if (again && !deadline.passed()) continue;
      return infra_of(named(trial.error(), request.task), InfraKind::reference_failed);
    }
    for (const auto& [name, ms] : trial->shown.phase_ms) verdict.phase_ms[name] += ms;
    if (trial->decision.outcome == VerdictClass::unstable_timing) {
      if (attempts == 0 && !deadline.passed()) continue;
      if (!is_candidate_unstable(trial->decision) || !knows_the_core(trial->shown)) {
        return InfraFailure{InfraKind::noise, trial->decision.feedback};
      }
      trial->decision = accept_unstable(std::move(trial->decision));
      if (run.review && trial->shown.stage) run.review(*trial->shown.stage, trial->decision);
    }
    return conclude(request, std::move(verdict), std::move(*trial), **record, run, *seed, deadline);
  }
  return InfraFailure{InfraKind::reference_failed, "no attempt succeeded"};
}

}  // namespace warpsmith::sandbox
