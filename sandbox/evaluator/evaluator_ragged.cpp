// SPDX-License-Identifier: Apache-2.0
// Hidden ragged shapes: the task on them is measured once, every candidate is verified on them.
#include "sandbox/evaluator/evaluator_state.hpp"
#include "sandbox/reference/ragged.hpp"

namespace warpsmith::sandbox {
namespace {

/// A candidate's own words and numbers might tell the sizes: its class is all that is said.
Decision concealed(Decision decision) {
  decision.shape.hidden = true;
  if (decision.outcome == VerdictClass::passed) return decision;
  decision.feedback = std::string(to_string(decision.outcome)) +
                      ": on other sizes of the task's inputs than those shown";
  return decision;
}

}  // namespace

Result<const IngestRecord*> Evaluator::State::ragged_record_of(const Task& ragged,
                                                               const IngestRecord& shown,
                                                               Deadline deadline) {
  auto signature = signature_of(ragged, deadline);
  if (!signature) return tl::unexpected(std::move(signature.error()));
  const std::string why = ragged_complaint(shown.facts.signature, **signature);
  if (!why.empty()) return tl::unexpected(named({ErrorCode::invalid_argument, why}, ragged));
  return record_of(ragged, IngestScope::verified, deadline);
}

Result<std::optional<RaggedResult>> Evaluator::State::verify_ragged(const EvaluateRequest& request,
                                                                    const CandidateRun& run,
                                                                    const SecretSeed& seed,
                                                                    Deadline deadline) {
  auto ragged = ragged_task(request.task);
  if (!ragged) return std::nullopt;
  auto record = record_of(*ragged, IngestScope::verified, deadline);
  if (!record) return tl::unexpected(std::move(record.error()));
  RaggedResult result;
  auto start = run.for_sizes(*ragged, (*record)->facts.signature);
  if (!start) {
    result.decision.outcome = start.error().failure.value_or(VerdictClass::compile_error);
    result.decision = concealed(std::move(result.decision));
    return result;
  }
  CandidateRun there = run;
  there.start = std::move(*start);
  EvaluateRequest verify = request;
  verify.task = std::move(*ragged);
  verify.want = Request::verify;
  auto outcome = attempt(verify, **record, there, seed, Shapes::hidden, deadline);
  if (!outcome) return tl::unexpected(std::move(outcome.error()));
  result.outcome = std::move(*outcome);
  result.decision = concealed(decide_on(verify, result.outcome, **record, there, seed));
  return result;
}

}  // namespace warpsmith::sandbox
