// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/evaluation_rate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <latch>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <thread>

#include "runtime/clock.hpp"
#include "runtime/median.hpp"

namespace warpsmith::commands {

std::optional<double> clock_gap_us(const Verdict& verdict) {
  const auto evidence = nlohmann::json::parse(verdict.evidence, nullptr, false);
  if (!evidence.is_object()) return std::nullopt;
  const auto gap =
      evidence.value(nlohmann::json::json_pointer("/timing/clock_gap_ms"), nlohmann::json());
  if (!gap.is_number()) return std::nullopt;
  return 1000 * gap.get<double>();
}

namespace {

using std::chrono::minutes;

constexpr minutes ingest_budget{10};
constexpr minutes evaluation_budget{2};

double median_or_zero(const std::vector<double>& values) {
  return values.empty() ? 0 : median(values);
}

/// Collects the results of all slots. Thread-safe.
class Tally {
 public:
  void count(const Judgement& judgement, double took_ms, const std::string& what) {
    const std::lock_guard lock{mutex_};
    each_ms_.push_back(took_ms);
    const auto* verdict = std::get_if<Verdict>(&judgement);
    if (verdict == nullptr) {
      const auto& failure = std::get<InfraFailure>(judgement);
      ++figures_.verdicts[std::string{to_string(failure.kind)}];
      figures_.not_passed.push_back(what + ": " + failure.detail);
      return;
    }
    ++figures_.verdicts[std::string{to_string(verdict->outcome)}];
    if (!verdict->correct()) figures_.not_passed.push_back(what + ": " + verdict->feedback);
    add_phases(*verdict, took_ms);
  }

  EvaluationFigures figures(double wall_ms, size_t slots) {
    const auto count = static_cast<double>(each_ms_.size());  // 0 if it was stopped early
    const auto judged = static_cast<double>(phase_ms_["other"].size());
    for (const auto& [name, values] : phase_ms_) {
      if (values.empty()) continue;
      const double sum = std::accumulate(values.begin(), values.end(), 0.0);
      figures_.phases[name] = {sum / judged, median_or_zero(values), sum / judged_ms_};
    }
    figures_.evaluations = static_cast<int64_t>(each_ms_.size());
    figures_.slots = static_cast<int64_t>(slots);
    figures_.seconds = wall_ms / 1000;
    figures_.per_second = count / figures_.seconds;
    figures_.median_ms = median_or_zero(each_ms_);
    figures_.median_compile_ms = median_or_zero(phase_ms_["compile"]);
    figures_.median_held_ms = median_or_zero(held_ms_);
    return std::move(figures_);
  }

 private:
  void add_phases(const Verdict& verdict, double took_ms) {
    judged_ms_ += took_ms;
    double other = took_ms;
    for (const auto& [name, ms] : verdict.phase_ms) {
      phase_ms_[name].push_back(ms);
      other -= ms;
    }
    phase_ms_["other"].push_back(other);
    if (verdict.device_held_ms) held_ms_.push_back(*verdict.device_held_ms);
    figures_.widest_gap_us = std::max(figures_.widest_gap_us, clock_gap_us(verdict));
  }

  std::mutex mutex_;
  std::map<std::string, std::vector<double>> phase_ms_;
  std::vector<double> each_ms_, held_ms_;
  double judged_ms_ = 0;  // time of the evaluations that ended in a verdict
  EvaluationFigures figures_;
};

using Tasks = std::vector<const Task*>;

/// The state that all slots share.
class Measurement {
 public:
  Measurement(const EvaluationLoad& load, size_t slots)
      : load_(load),
        slots_(slots),
        nonce_(std::to_string(std::chrono::system_clock::now().time_since_epoch().count())),
        ready_(static_cast<std::ptrdiff_t>(slots)),
        done_(static_cast<std::ptrdiff_t>(slots)) {}

  /// Runs one slot's thread. Its service ends after the last answer, outside the measured time.
  void serve(const SandboxBackendFactory& make, size_t slot) {
    auto backend = make();
    auto prepared =
        backend ? prepare(**backend, slot) : Result<void>{tl::unexpected(backend.error())};
    if (!prepared && !ended()) stop(std::move(prepared.error()));
    ready_.count_down();
    go_.wait();
    while (!ended()) {
      const int64_t i = next_++;
      if (i >= load_.evaluations) break;
      const auto start = SteadyClock::now();
      const Judgement judgement = evaluate(**backend, measured_, i);
      // The cause of the stop may have ended the service too.
      if (std::holds_alternative<InfraFailure>(judgement) && ended()) break;
      tally_.count(judgement, in_ms(SteadyClock::now() - start),
                   fmt::format("{}, style {}", task_of(measured_, i).id, style_of(measured_, i)));
      print_progress(i + 1);
    }
    done_.count_down();
  }

  /// Waits for the last answer.
  void await_answers() const { done_.wait(); }

  /// Starts the measurement once every slot is ready, over the tasks that were not refused.
  void begin() {
    ready_.wait();
    for (const Task& task : used()) {
      if (!refused_.contains(task.id)) measured_.push_back(&task);
    }
    if (measured_.empty()) stop({ErrorCode::invalid_argument, "every task was refused"});
    go_.count_down();
  }
  const std::optional<Error>& failure() const { return failure_; }
  Tally& tally() { return tally_; }

 private:
  /// True after a failure or a request to stop.
  bool ended() {
    const std::lock_guard lock{mutex_};
    return failure_.has_value() || load_.stop();
  }

  /// Prints progress at each tenth of the evaluations.
  void print_progress(int64_t done) const {
    const int64_t step = std::max<int64_t>(1, load_.evaluations / 10);
    if (done % step != 0) return;
    load_.progress(fmt::format("evaluated {} of {}", done, load_.evaluations));
  }

  /// The tasks that are used, at most one per evaluation.
  std::span<const Task> used() const {
    return std::span(load_.tasks)
        .first(std::min(load_.tasks.size(), static_cast<size_t>(load_.evaluations)));
  }

  /// Ingests and evaluates every task once. Slots begin at different tasks: what one has measured,
  /// the others find on disk.
  Result<void> prepare(sandbox::Backend& backend, size_t slot) {
    Tasks ready;
    const size_t count = used().size();
    const size_t first = slot * count / slots_;
    for (size_t number = 0; number < count && !ended(); ++number) {
      const Task& task = used()[(first + number) % count];
      load_.progress(fmt::format("preparing {} of {}: {}", number + 1, count, task.id));
      auto facts = backend.ingest(task, Deadline::after(ingest_budget));
      if (!facts && facts.error().code != ErrorCode::invalid_argument) {
        return tl::unexpected(std::move(facts.error()));
      }
      if (!facts) {
        refuse(task, facts.error());
        continue;
      }
      ready.push_back(&task);
      (void)evaluate(backend, {&task}, 0);
    }
    for (int64_t i = 0; load_.repeat_sources && !ready.empty() && i < load_.evaluations; ++i) {
      (void)evaluate(backend, ready, i, Request::compile);
    }
    return {};
  }

  void refuse(const Task& task, const Error& why) {
    const std::lock_guard lock{mutex_};
    if (refused_.insert(task.id).second) load_.progress("refused, left out: " + why.message);
  }

  void stop(Error error) {
    const std::lock_guard lock{mutex_};
    if (!failure_) failure_ = std::move(error);
  }

  static const Task& task_of(const Tasks& tasks, int64_t i) {
    return *tasks[static_cast<size_t>(i) % tasks.size()];
  }
  /// The style of evaluation `i`: another one for a task in each round, and for the next task
  /// within a round.
  size_t style_of(const Tasks& tasks, int64_t i) const {
    const auto at = static_cast<size_t>(i);
    return (at % tasks.size() + at / tasks.size()) % load_.sources.at(task_of(tasks, i).id).size();
  }

  Judgement evaluate(sandbox::Backend& backend, const Tasks& tasks, int64_t i,
                     Request request = Request::final) {
    const Task& task = task_of(tasks, i);
    FileSet files = load_.sources.at(task.id).at(style_of(tasks, i));
    if (!load_.repeat_sources) {
      files.at(load_.contract == "cpu" ? "kernel.cpp" : "kernels.cu") +=
          "// " + nonce_ + ' ' + std::to_string(++made_) + '\n';
    }
    return backend.evaluate({task, {task.id, load_.contract, std::move(files)}, request},
                            Deadline::after(evaluation_budget));
  }

  const EvaluationLoad& load_;
  size_t slots_;
  std::string nonce_;  // of this run, so that no earlier run compiled the same text
  std::latch ready_, done_, go_{1};
  std::set<std::string> refused_;
  Tasks measured_;
  std::atomic<int64_t> next_{0};
  std::atomic<uint64_t> made_{0};
  Tally tally_;
  std::mutex mutex_;
  std::optional<Error> failure_;
};

}  // namespace

std::map<std::string, std::map<std::string, double>> EvaluationFigures::phase_table() const {
  std::map<std::string, std::map<std::string, double>> table;
  for (const auto& [name, phase] : phases) {
    table[name] = {
        {"ms", phase.per_evaluation_ms}, {"median_ms", phase.median_ms}, {"share", phase.share}};
  }
  return table;
}

Result<EvaluationFigures> measure_evaluations(const std::vector<SandboxBackendFactory>& slots,
                                              const EvaluationLoad& load) {
  Measurement measurement(load, slots.size());
  std::vector<std::jthread> threads;
  threads.reserve(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    threads.emplace_back([&, i] { measurement.serve(slots[i], i); });
  }
  measurement.begin();
  const auto begin = SteadyClock::now();
  measurement.await_answers();
  const double wall_ms = in_ms(SteadyClock::now() - begin);
  for (std::jthread& thread : threads) thread.join();
  if (measurement.failure()) return tl::unexpected(*measurement.failure());
  return measurement.tally().figures(wall_ms, slots.size());
}

double GpuScaling::ratio() const {
  return one.per_second > 0 ? all.per_second / one.per_second : 0;
}

double GpuScaling::ratio_bar() const {
  constexpr double per_gpu = 0.95;  // of the rate of one GPU by itself
  return per_gpu * static_cast<double>(gpus);
}

Result<GpuScaling> measure_scaling(const std::vector<SandboxBackendFactory>& slots, int64_t gpus,
                                   EvaluationLoad load) {
  const auto step = static_cast<size_t>(gpus);
  assert(gpus > 0 && slots.size() % step == 0 && "GPUs with different numbers of slots");
  std::vector<SandboxBackendFactory> of_first;
  for (size_t i = 0; i < slots.size(); i += step) of_first.push_back(slots[i]);
  GpuScaling scaling{.gpus = gpus, .one = {}, .all = {}};
  TRY(auto one, measure_evaluations(of_first, load));
  scaling.one = std::move(one);
  if (load.stop()) return scaling;
  load.evaluations *= gpus;
  TRY(auto all, measure_evaluations(slots, load));
  scaling.all = std::move(all);
  return scaling;
}

}  // namespace warpsmith::commands
