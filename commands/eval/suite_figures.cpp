// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/suite_figures.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/run/run_queries.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// The times of the blocks in a verdict's evidence, under one key; empty if there is no such list.
std::vector<double> block_times(const json& evidence, const char* key) {
  std::vector<double> times;
  if (!evidence.is_object() || !evidence.contains("timing")) return times;
  const json& timing = evidence["timing"];
  if (!timing.is_object() || !timing.contains(key) || !timing[key].is_array()) return times;
  for (const json& value : timing[key]) {
    if (value.is_number()) times.push_back(value.get<double>());
  }
  return times;
}

std::optional<Measured> measured_time(const std::optional<double>& ms, const json& evidence,
                                      const char* key) {
  if (!ms) return std::nullopt;
  return Measured{*ms, median_interval(block_times(evidence, key))};
}

std::optional<Measured> measured_ratio(const std::optional<double>& ratio,
                                       const std::optional<Interval>& interval) {
  if (!ratio) return std::nullopt;
  return Measured{*ratio, interval};
}

void add_times(SuiteSample& sample, const Verdict& verdict) {
  if (verdict.shapes.empty()) return;
  const ShapeResult& shape = verdict.shapes.front();
  const json evidence = json::parse(verdict.evidence, nullptr, /*allow_exceptions=*/false);
  sample.candidate_ms = measured_time(shape.candidate_ms, evidence, "candidate_ms");
  sample.eager_ms = measured_time(shape.eager_ms, evidence, "eager_ms");
  sample.compile_ms = measured_time(shape.compile_ms, evidence, "compile_ms");
  sample.speedup_eager = measured_ratio(shape.speedup_eager, shape.speedup_eager_interval);
  sample.speedup_compile = measured_ratio(shape.speedup_compile, shape.speedup_compile_interval);
}

void add_verdict(SuiteSample& sample, const Verdict& verdict) {
  sample.trust = to_string(verdict.trust);
  sample.feedback = first_line(verdict.feedback);
  if (!sample.passed || !verdict.correct()) return;
  sample.strict_passed = verdict.strict ? verdict.strict->passed : true;
  add_times(sample, verdict);
}

Result<SuiteSample> sample_of(RunDatabase& db, const TrajectoryRow& row) {
  SuiteSample sample{.id = row.id, .outcome = std::string{verdict_name(*row.outcome)}};
  sample.passed = row.outcome->verdict == VerdictClass::passed;
  TRY(const auto verdicts, verdict_rows(db, row.id));
  for (const VerdictRow& one : verdicts) {
    if (is_deciding(one, *row.outcome)) add_verdict(sample, one.verdict);
  }
  return sample;
}

/// "task ID refused: REASON", as the synthesis records it.
void add_refusal(std::map<std::string, std::string>& refused, const std::string& text) {
  constexpr std::string_view begin = "task ", middle = " refused: ";
  const size_t at = text.find(middle);
  if (!text.starts_with(begin) || at == std::string::npos) return;
  refused[text.substr(begin.size(), at - begin.size())] = text.substr(at + middle.size());
}

/// "ID: WHAT", as the synthesis records it.
void add_note(std::map<std::string, std::string>& notes, const std::string& text) {
  const size_t at = text.find(": ");
  if (at != std::string::npos) notes[text.substr(0, at)] = text.substr(at + 2);
}

std::string note_of(const std::map<std::string, std::string>& notes, const std::string& id) {
  const auto found = notes.find(id);
  return found == notes.end() ? "" : found->second;
}

using Ratio = std::optional<Measured> SuiteSample::*;
using Passed = bool SuiteSample::*;

/// The samples of one task that count.
struct TaskSamples {
  const SuiteTask* task = nullptr;
  std::vector<SuiteSample> samples;
  std::string dropped;  // why the newest drop was; empty: none
  std::string insensitive, without_compile;
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
    TaskSamples& one = tasks.emplace_back(TaskSamples{.task = &task});
    one.insensitive = note_of(records.insensitive, task.id);
    one.without_compile = note_of(records.without_compile, task.id);
    if (found != records.samples.end()) one.samples = found->second;
    one.dropped = note_of(records.dropped, task.id);
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
    const auto sensitive = [](const TaskSamples& task) { return task.insensitive.empty(); };
    add(SuiteScope::all, "", [](const TaskSamples&) { return true; });
    add(SuiteScope::sensitive, "", sensitive);
    std::set<std::string> levels;
    for (const TaskSamples& task : tasks_) levels.insert(task.task->level);
    for (const std::string& level : levels) {
      const auto belongs = [&](const TaskSamples& t) { return t.task->level == level; };
      add(SuiteScope::level, level, belongs);
      add(SuiteScope::sensitive_level, level,
          [&](const TaskSamples& t) { return belongs(t) && sensitive(t); });
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
    row.insensitive = task.insensitive;
    row.without_compile = task.without_compile;
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

std::optional<Interval> median_interval(std::vector<double> values) {
  const auto count = values.size();
  constexpr double most_outside = 0.025;  // on each side
  std::sort(values.begin(), values.end());
  double below = 0, term = std::pow(0.5, static_cast<double>(count));
  size_t rank = 0;  // P(fewer than `rank` + 1 values lie below the median) is still small
  while (rank < count / 2 && below + term <= most_outside) {
    below += term;
    ++rank;
    term *= static_cast<double>(count - rank + 1) / static_cast<double>(rank);
  }
  if (rank == 0) return std::nullopt;
  return Interval{values[rank - 1], values[count - rank]};
}

Result<SuiteRecords> read_suite_records(RunDatabase& db) {
  SuiteRecords records;
  TRY(const auto rows, trajectory_rows(db, 1, UINT64_MAX >> 1U));
  for (const TrajectoryRow& row : rows) {
    if (row.drop_reason) records.dropped[row.task_id] = first_line(row.drop_detail);
    if (row.drop_reason || !row.outcome) continue;
    TRY(auto sample, sample_of(db, row));
    records.samples[row.task_id].push_back(std::move(sample));
  }
  TRY(const auto events, recent_events(db, INT32_MAX));
  for (const EventRow& event : events) {
    if (event.kind == "task_refused") add_refusal(records.refused, event.text);
    if (event.kind == "task_insensitive") add_note(records.insensitive, event.text);
    if (event.kind == "task_without_compile") add_note(records.without_compile, event.text);
  }
  return records;
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
