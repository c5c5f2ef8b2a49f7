// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/repetition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "policy/learn/reward.hpp"
#include "runtime/median.hpp"

namespace warpsmith::commands {
namespace {

bool contains_milestone(const std::optional<Interval>& interval) {
  return interval && !clearly_faster(interval->low) && clearly_faster(interval->high);
}

double median_of(const std::vector<VerdictSample>& verdicts, double VerdictSample::* member) {
  std::vector<double> values;
  for (const VerdictSample& one : verdicts) {
    if (one.*member > 0) values.push_back(one.*member);
  }
  return values.empty() ? 0 : median(values);
}

bool is_noise(const Judgement& judgement) {
  const auto* failure = std::get_if<InfraFailure>(&judgement);
  return failure != nullptr && failure->kind == InfraKind::noise;
}

}  // namespace

FinalVerdict final_verdict(sandbox::Backend& backend, const Task& task,
                           const Submission& submission) {
  constexpr std::chrono::minutes budget{10};  // the first evaluation may measure the task
  const sandbox::EvaluateRequest request{task, submission, Request::final};
  FinalVerdict result{backend.evaluate(request, Deadline::after(budget))};
  while (is_noise(result.judgement) && result.retries + 1 < max_noisy) {
    ++result.retries;
    result.judgement = backend.evaluate(request, Deadline::after(budget));
  }
  return result;
}

std::map<int, int64_t> Repetition::milestones() const {
  std::map<int, int64_t> counts;
  for (const VerdictSample& one : verdicts) ++counts[one.milestone];
  return counts;
}

int64_t Repetition::unexplained() const {
  const auto counts = milestones();
  const auto common = std::ranges::max_element(
      counts, {}, [](const std::pair<const int, int64_t>& entry) { return entry.second; });
  if (common == counts.end()) return 0;
  return std::ranges::count_if(verdicts, [&](const VerdictSample& one) {
    const bool higher = one.milestone > common->first;
    return one.milestone != common->first && (higher || !one.straddles);
  });
}

double Repetition::median_speedup_eager() const {
  return median_of(verdicts, &VerdictSample::speedup_eager);
}

double Repetition::median_speedup_compile() const {
  return median_of(verdicts, &VerdictSample::speedup_compile);
}

bool SpeedupBar::is_met(const Repetition& repetition) const {
  const double median = repetition.median_speedup_eager();
  return median >= range().low && median <= range().high;
}

VerdictSample sample_of(const Verdict& verdict) {
  VerdictSample seen{.milestone = static_cast<int>(
                         std::lround(policy::reward_of(verdict, RewardRule::milestone)))};
  if (verdict.shapes.empty()) return seen;
  const ShapeResult& shape = verdict.shapes.front();
  seen.speedup_eager = shape.speedup_eager.value_or(0);
  seen.speedup_compile = shape.speedup_compile.value_or(0);
  seen.straddles = contains_milestone(shape.speedup_eager_interval) ||
                   contains_milestone(shape.speedup_compile_interval);
  return seen;
}

Result<Repetition> repeat_verdict(sandbox::Backend& backend, const sandbox::EvaluateRequest& call,
                                  const RepeatLoad& load) {
  Repetition repetition;
  for (int64_t i = 0; i < load.times && !load.stop(); ++i) {
    const auto [judgement, retries] = final_verdict(backend, call.task, call.submission);
    repetition.retries += retries;
    if (const auto* failure = std::get_if<InfraFailure>(&judgement)) {
      if (load.stop()) break;  // the cause of the stop may have ended the service
      return fail(ErrorCode::infrastructure,
                  std::string{to_string(failure->kind)} + ": " + failure->detail);
    }
    repetition.verdicts.push_back(sample_of(std::get<Verdict>(judgement)));
    load.progress(fmt::format("{}: {} of {}", call.task.id, i + 1, load.times));
  }
  return repetition;
}

}  // namespace warpsmith::commands
