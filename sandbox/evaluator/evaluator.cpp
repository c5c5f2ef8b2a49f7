// SPDX-License-Identifier: Apache-2.0
// Routes a submission to its contract, which builds it, and to the judge.
#include "sandbox/evaluator/evaluator.hpp"

#include "runtime/submission.hpp"
#include "sandbox/evaluator/candidate_judge.hpp"

namespace warpsmith::sandbox {
namespace {

Verdict failing(Verdict verdict, VerdictClass outcome, const std::string& text) {
  verdict.outcome = outcome;
  verdict.feedback = std::string(to_string(outcome)) + ": " + text;
  return verdict;
}

Verdict passing(Verdict verdict, std::string feedback) {
  verdict.outcome = VerdictClass::passed;
  verdict.feedback = std::move(feedback);
  return verdict;
}

}  // namespace

struct Evaluator::State {
  struct OpenContract {
    const ContractEntry& entry;
    std::unique_ptr<Contract> contract;
  };

  std::unique_ptr<Slot> slot;
  TaskCache tasks{*slot};
  BaselineHistory baselines;
  std::map<std::string_view, OpenContract> contracts;

  explicit State(std::unique_ptr<Slot> opened) : slot(std::move(opened)) {}

  /// Pins the thread to the slot's core, if it has one.
  std::optional<CorePin> pin() const {
    const auto core = slot->options().core;
    return core ? std::optional<CorePin>(std::in_place, *core) : std::optional<CorePin>();
  }
  /// Called first in each call: bounds the memory, and waits until the slot is quiet.
  void begin(Deadline deadline) {
    tasks.evict_full_maps();
    for (auto& [name, open] : contracts) open.contract->wait_idle(deadline);
  }

  OrFailure<Verdict> evaluate(const EvaluateRequest& request, Verdict verdict, CandidateTime& own,
                              Deadline deadline);
};

Evaluator::Evaluator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&&) noexcept = default;
Evaluator::~Evaluator() = default;

Result<Evaluator> Evaluator::open(SandboxOptions options, const ContractList& contracts) {
  TRY(auto slot, Slot::open(std::move(options)));
  auto state = std::make_unique<State>(std::move(slot));
  for (const ContractEntry* entry : contracts) {
    TRY(auto opened, entry->open(state->slot->for_contracts()));
    state->contracts.emplace(entry->name, State::OpenContract{*entry, std::move(opened)});
  }
  return Evaluator{std::move(state)};
}

OrFailure<Verdict> Evaluator::State::evaluate(const EvaluateRequest& request, Verdict verdict,
                                              CandidateTime& own, Deadline deadline) {
  const auto found = contracts.find(verdict.contract);
  if (found == contracts.end()) {
    return fail(ErrorCode::unsupported, "no such contract here: " + verdict.contract);
  }
  const auto& [entry, contract] = found->second;
  if (request.want == Request::explain && !entry.explains) {
    return fail(ErrorCode::unsupported, "contract " + verdict.contract + " has no plan to explain");
  }
  if (runs(request.want)) {  // it imports torch while the submission compiles
    TRY_VOID(slot->begin_worker());
  }
  const BuildContext context{
      .request = request,
      .own = own,
      .tell = [this](const std::string& what) { slot->report(what); },
      .signature = [&](Deadline by) { return tasks.signature_of(request.task, by); }};
  TRY(auto build, contract->build(context, deadline));
  verdict.jail = std::move(build.jail);
  verdict.phase_ms = std::move(build.phase_ms);
  if (!build.candidate) {
    const Compiled& failed = build.candidate.error();
    return failing(std::move(verdict), *failed.failure, failed.text);
  }
  if (request.want == Request::compile) return passing(std::move(verdict), "compiled");
  if (request.want == Request::explain) {
    return passing(std::move(verdict), std::move(build.explanation));
  }
  const JudgedCandidate candidate{request, entry, *contract, **build.candidate, own};
  auto judged =
      CandidateJudge({*slot, tasks, baselines}, candidate).judge(std::move(verdict), deadline);
  std::map<std::string, double> phases;
  contract->make_next_ready(phases);
  if (judged) judged->phase_ms.merge(phases);
  return judged;
}

void Evaluator::on_progress(Progress progress) {
  state_->slot->set_progress(std::move(progress));
}

Judgement Evaluator::evaluate(const EvaluateRequest& request, Deadline deadline) {
  CandidateTime own(deadline, state_->slot->options().settings.call_timeout);
  const auto pin = state_->pin();
  state_->begin(deadline);
  Verdict verdict{.contract = request.submission.contract,
                  .submission_hash = source_hash(request.submission.files)};
  state_->slot->report(request.task.id + ": compiling");
  auto judged = state_->evaluate(request, verdict, own, deadline);
  state_->slot->release_large_bench();
  if (!judged && judged.error().blame == Blame::deadline && own.caused_timeout()) {
    return failing(std::move(verdict), VerdictClass::timeout, own.text());
  }
  if (!judged) return infra_of(judged.error());
  if (judged->outcome == VerdictClass::unstable_timing) {
    return InfraFailure{InfraKind::noise, std::move(judged->feedback)};
  }
  return std::move(*judged);
}

Result<TaskFacts> Evaluator::ingest(const Task& task, Deadline deadline) {
  const auto pin = state_->pin();
  state_->begin(deadline);
  auto record = state_->tasks.record_of(task, deadline);
  state_->slot->release_large_bench();
  if (!record) return tl::unexpected(error_of(std::move(record.error())));
  return (*record)->facts;
}

}  // namespace warpsmith::sandbox
