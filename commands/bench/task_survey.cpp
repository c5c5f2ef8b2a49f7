// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/task_survey.hpp"

#include "commands/bench/repetition.hpp"
#include "runtime/clock.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/workspace/solution.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes task_budget{10};
constexpr const char* mistake_file = "wrong.json";

Result<Submission> submission_in(const fs::path& place, const Task& task,
                                 const std::string& contract) {
  Submission submission{task.id, contract, {}};
  std::error_code error;
  if (!fs::is_directory(place, error)) return submission;
  TRY(const auto folder, sandbox::SafeFolder::open(place));
  auto files = sandbox::freeze_folder(
      folder, std::string{sandbox::contract_named(contract).required_file}, {});
  if (!files) return fail(place.string(), std::move(files.error()));
  files->erase(mistake_file);
  submission.files = std::move(*files);
  return submission;
}

std::optional<Judgement> judged(sandbox::Backend& backend, const Task& task,
                                const Submission& submission, const BenchProgress& progress) {
  if (submission.files.empty()) return std::nullopt;
  progress(task.id + ": judging");
  return final_verdict(backend, task, submission).judgement;
}

bool has_passed(const std::optional<Judgement>& judgement) {
  const auto* verdict = judgement ? std::get_if<Verdict>(&*judgement) : nullptr;
  return verdict != nullptr && verdict->correct();
}

bool beats_compile(const std::optional<Judgement>& judgement) {
  if (!has_passed(judgement)) return false;
  const auto& interval = std::get<Verdict>(*judgement).shapes.at(0).speedup_compile_interval;
  return interval && clearly_faster(interval->low);
}

}  // namespace

Result<SolutionPair> solutions_of(const Task& task, const fs::path& solutions,
                                  const std::string& contract) {
  TRY(auto right, submission_in(solutions / task.id, task, contract));
  const fs::path mistake = solutions / task.id / mistake_file;
  SolutionPair pair{std::move(right), {}};
  std::error_code error;
  if (!fs::exists(mistake, error)) return pair;
  TRY(auto files, sandbox::with_mistake(pair.right.files, mistake));
  pair.wrong = {task.id, contract, std::move(files)};
  return pair;
}

bool is_insensitive(const SurveyedTask& task) {
  return task.facts && !task.facts->insensitive.empty();
}

SurveyCounts Survey::counts() const {
  SurveyCounts sum;
  for (const SurveyedTask& task : tasks) {
    ++(task.facts ? sum.accepted : sum.refused);
    sum.insensitive += is_insensitive(task) ? 1 : 0;
    sum.right += task.right ? 1 : 0;
    sum.right_passed += has_passed(task.right) ? 1 : 0;
    sum.beat_compile += beats_compile(task.right) ? 1 : 0;
    sum.wrong += task.wrong ? 1 : 0;
    sum.wrong_passed += has_passed(task.wrong) ? 1 : 0;
  }
  return sum;
}

Result<SurveyedTask> survey_task(sandbox::Backend& backend, const Task& task,
                                 const SolutionPair& solutions, const BenchProgress& progress) {
  SurveyedTask seen{.id = task.id};
  progress(task.id + ": ingest");
  const auto began = SteadyClock::now();
  auto facts = backend.ingest(task, Deadline::after(task_budget));
  seen.ingest_s = std::chrono::duration<double>(SteadyClock::now() - began).count();
  if (!facts) {
    if (facts.error().code == ErrorCode::peer_lost) return tl::unexpected(facts.error());
    seen.refusal = std::move(facts.error().message);
    seen.refusal_code = facts.error().code;
    return seen;
  }
  seen.facts = std::move(*facts);
  seen.right = judged(backend, task, solutions.right, progress);
  seen.wrong = judged(backend, task, solutions.wrong, progress);
  return seen;
}

}  // namespace warpsmith::commands
