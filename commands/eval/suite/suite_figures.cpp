// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/suite/suite_figures.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/verdict.hpp"

namespace warpsmith::commands {
namespace {

using Ratio = std::optional<Measured> SuiteSample::*;
using Passed = bool SuiteSample::*;

/// The samples of one task that count.
struct TaskSamples {
  const SuiteTask* task = nullptr;
  std::vector<SuiteSample> samples;
  std::string dropped;  // why the newest drop was; empty: none
};

/// What a row is computed from.
struct Group {
  std::vector<const TaskSamples*> tasks;
  Passed passed = nullptr;
  int64_t planned = 1;  // samples of each task
};

bool is_clearly_faster(const SuiteSample& sample, Ratio ratio) {
  const auto& speedup = sample.*ratio;
  return speedup && speedup->interval && clearly_faster(speedup->interval->low);
}

bool is_fast(const SuiteSample& sample, Ratio ratio, double p) {
  if (p == 0) return true;  // correct at any speed
  return (sample.*ratio) && (sample.*ratio)->value > p;
}

/// The correct sample with the largest speed-up; one without times is the last choice.
const SuiteSample* best_of(const TaskSamples& task, Passed passed, Ratio ratio) {
  const SuiteSample* best = nullptr;
  const auto speed = [&](const SuiteSample& s) { return (s.*ratio) ? (s.*ratio)->value : 0; };
  for (const SuiteSample& sample : task.samples) {
    if (sample.*passed && (best == nullptr || speed(sample) > speed(*best))) best = &sample;
  }
  return best;
}

class GeometricMean {
 public:
  void add(const std::optional<Measured>& ratio) {
    if (!ratio || ratio->value <= 0) return;
    sum_ += std::log(ratio->value);
    ++count_;
  }
  std::optional<double> value() const {
    if (count_ == 0) return std::nullopt;
    return std::exp(sum_ / static_cast<double>(count_));
  }

 private:
  double sum_ = 0;
  size_t count_ = 0;
};

/// The mean over tasks of each task's share of samples that are correct and `counts`.
template <class Counts>
Share mean_share(const Group& group, Counts counts) {
  if (group.tasks.empty()) return std::nullopt;
  double sum = 0;
  for (const TaskSamples* task : group.tasks) {
    const auto hits = std::ranges::count_if(
        task->samples, [&](const SuiteSample& s) { return s.*group.passed && counts(s); });
    sum += static_cast<double>(hits) / static_cast<double>(task->samples.size());
  }
  return sum / static_cast<double>(group.tasks.size());
}

SpeedFigures speeds_of(const Group& group, Ratio ratio) {
  SpeedFigures out;
  GeometricMean all, best;
  std::array<double, fast_points.size()> fast{};  // tasks
  for (const TaskSamples* task : group.tasks) {
    for (const SuiteSample& s : task->samples) {
      if (s.*group.passed) all.add(s.*ratio);
    }
    const SuiteSample* top = best_of(*task, group.passed, ratio);
    if (top == nullptr) continue;
    best.add(top->*ratio);
    for (size_t i = 0; i < fast_points.size(); ++i) {
      fast[i] += is_fast(*top, ratio, fast_points[i]) ? 1 : 0;
    }
  }
  out.geomean = all.value();
  out.best_geomean = best.value();
  for (size_t i = 0; i < fast_points.size(); ++i) {
    out.fast[i] =
        mean_share(group, [&](const SuiteSample& s) { return is_fast(s, ratio, fast_points[i]); });
    if (!group.tasks.empty()) out.best_fast[i] = fast[i] / static_cast<double>(group.tasks.size());
  }
  out.faster = mean_share(group, [&](const SuiteSample& s) { return is_clearly_faster(s, ratio); });
  return out;
}

/// The mean over the tasks that have k samples.
std::optional<double> mean_pass_at(const Group& group, int64_t k) {
  double sum = 0;
  size_t count = 0;
  for (const TaskSamples* task : group.tasks) {
    const auto correct = static_cast<size_t>(std::ranges::count(task->samples, true, group.passed));
    const auto one = pass_at_k(task->samples.size(), correct, k);
    if (!one) continue;
    sum += *one;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

void add_counts(SuiteRow& row, const Group& group) {
  std::set<std::string> trust;
  for (const TaskSamples* task : group.tasks) {
    row.samples += task->samples.size();
    for (const SuiteSample& s : task->samples) {
      if (!s.trust.empty()) trust.insert(s.trust);
      if (s.*group.passed) {
        ++row.correct;
        continue;
      }
      ++row.failures[s.passed ? "not_strict" : s.outcome];
      if (row.reason.empty()) row.reason = s.feedback.empty() ? s.outcome : s.feedback;
    }
  }
  for (const std::string& name : trust) row.trust += (row.trust.empty() ? "" : "+") + name;
}

SuiteRow row_of(Group group, const std::vector<int64_t>& ks) {
  const auto wanted = static_cast<size_t>(group.planned) * group.tasks.size();
  std::erase_if(group.tasks, [](const TaskSamples* t) { return t->samples.empty(); });
  SuiteRow row;
  row.tasks = group.tasks.size();
  add_counts(row, group);
  row.missing = wanted - row.samples;
  row.pass_rate = mean_share(group, [](const SuiteSample&) { return true; });
  for (const int64_t k : ks) row.pass_at[k] = mean_pass_at(group, k);
  row.eager = speeds_of(group, &SuiteSample::speedup_eager);
  row.compile = speeds_of(group, &SuiteSample::speedup_compile);
  return row;
}

std::vector<int64_t> ks_of(int64_t samples) {
  std::vector<int64_t> ks;
  for (const int64_t k : {1, 5, 10}) {
    if (k < samples) ks.push_back(k);
  }
  ks.push_back(samples);
  return ks;
}

std::vector<TaskSamples> counted_samples(const SuitePlan& plan, const SuiteRecords& records) {
  std::vector<TaskSamples> tasks;
  for (const SuiteTask& task : plan.tasks) {
    const auto found = records.samples.find(task.id);
    if (found == records.samples.end() && records.refused.contains(task.id)) continue;
    TaskSamples& one = tasks.emplace_back(TaskSamples{&task, {}, {}});
    if (found != records.samples.end()) one.samples = found->second;
    if (const auto why = records.dropped.find(task.id); why != records.dropped.end()) {
      one.dropped = why->second;
    }
    const auto planned = static_cast<size_t>(plan.samples);
    if (one.samples.size() > planned) one.samples.resize(planned);
  }
  return tasks;
}

/// The rows of one numerics.
class RowMaker {
 public:
  RowMaker(SuiteTable& table, const std::vector<TaskSamples>& tasks, int64_t planned,
           std::string numerics, Passed passed)
      : table_(table),
        tasks_(tasks),
        planned_(planned),
        numerics_(std::move(numerics)),
        passed_(passed) {}

  void add_all() {
    add(SuiteScope::all, "", [](const TaskSamples&) { return true; });
    std::set<std::string> levels;
    for (const TaskSamples& task : tasks_) levels.insert(task.task->level);
    for (const std::string& level : levels) {
      add(SuiteScope::level, level, [&](const TaskSamples& t) { return t.task->level == level; });
    }
    for (const TaskSamples& task : tasks_) add_task(task);
  }

 private:
  template <class Belongs>
  void add(SuiteScope scope, const std::string& level, Belongs belongs) {
    Group group{{}, passed_, planned_};
    for (const TaskSamples& task : tasks_) {
      if (belongs(task)) group.tasks.push_back(&task);
    }
    SuiteRow& row = table_.rows.emplace_back(row_of(std::move(group), table_.ks));
    row.scope = scope;
    row.level = level;
    row.numerics = numerics_;
  }
  void add_task(const TaskSamples& task) {
    add(SuiteScope::task, task.task->level, [&](const TaskSamples& t) { return &t == &task; });
    SuiteRow& row = table_.rows.back();
    row.task = task.task->id;
    if (row.missing > 0) row.missing_why = task.dropped;
    if (row.reason.empty()) row.reason = row.missing_why;
    const SuiteSample* best = best_of(task, passed_, &SuiteSample::speedup_eager);
    if (best != nullptr) row.best = *best;
  }

  SuiteTable& table_;
  const std::vector<TaskSamples>& tasks_;
  int64_t planned_;
  std::string numerics_;
  Passed passed_;
};

SuiteRow refusal(const std::string& level, const std::string& task, const std::string& reason) {
  SuiteRow row;
  row.scope = SuiteScope::refused;
  row.level = level;
  row.task = task;
  row.reason = reason;
  return row;
}

void add_refusals(SuiteTable& table, const SuitePlan& plan, const SuiteRecords& records) {
  for (const SuiteTask& task : plan.tasks) {
    const auto why = records.refused.find(task.id);
    if (why == records.refused.end() || records.samples.contains(task.id)) continue;
    table.rows.push_back(refusal(task.level, task.id, why->second));
  }
  for (const BrokenFile& file : plan.broken) {
    table.rows.push_back(refusal(file.level, file.file, file.reason));
  }
}

}  // namespace

std::string_view to_string(SuiteScope scope) noexcept {
  constexpr std::array<std::string_view, 4> names{"task", "level", "all", "refused"};
  return names[static_cast<size_t>(scope)];
}

std::optional<double> pass_at_k(size_t samples, size_t correct, int64_t k) {
  if (k < 1 || static_cast<size_t>(k) > samples) return std::nullopt;
  double none = 1;  // the chance that k samples, drawn without replacement, are all wrong
  for (int64_t i = 0; i < k; ++i) {
    const auto left = static_cast<double>(samples) - static_cast<double>(i);
    none *= std::max(0.0, left - static_cast<double>(correct)) / left;
  }
  return 1 - none;
}

SuiteTable suite_table(const SuitePlan& plan, const SuiteRecords& records) {
  SuiteTable table{ks_of(plan.samples), {}};
  const auto tasks = counted_samples(plan, records);
  RowMaker(table, tasks, plan.samples, plan.numerics, &SuiteSample::passed).add_all();
  if (plan.numerics == "paper") {
    RowMaker(table, tasks, plan.samples, "strict", &SuiteSample::strict_passed).add_all();
  }
  add_refusals(table, plan, records);
  return table;
}

}  // namespace warpsmith::commands
