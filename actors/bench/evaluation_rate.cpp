// SPDX-License-Identifier: Apache-2.0
#include "actors/bench/evaluation_rate.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/clock.hpp"
#include "runtime/median.hpp"

namespace warpsmith::actors {
namespace {

using std::chrono::minutes;

constexpr minutes ingest_budget{10};
constexpr minutes evaluation_budget{2};

double in_ms(SteadyClock::duration span) {
  return std::chrono::duration<double, std::milli>(span).count();
}

double median_or_zero(const std::vector<double>& values) {
  return values.empty() ? 0 : median(values);
}

class Measurement {
 public:
  Measurement(SandboxBackend& backend, const EvaluationLoad& load)
      : backend_(backend),
        load_(load),
        nonce_(std::to_string(std::chrono::system_clock::now().time_since_epoch().count())) {}

  Result<void> prepare() {
    const auto used = std::min<size_t>(load_.tasks.size(), static_cast<size_t>(load_.evaluations));
    for (size_t t = 0; t < used; ++t) {
      load_.progress(std::to_string(t + 1) + " of " + std::to_string(used) + ": " +
                     load_.tasks[t].id);
      auto facts = backend_.ingest(load_.tasks[t], ingest_budget);
      if (!facts) return tl::unexpected(std::move(facts.error()));
      (void)evaluate(load_.tasks[t], 0, Request::final);
    }
    for (int64_t i = 0; load_.repeat_sources && i < load_.evaluations; ++i) {
      (void)evaluate(task_of(i), style_of(i), Request::compile);
    }
    return {};
  }

  EvaluationFigures run() {
    const auto begin = SteadyClock::now();
    for (int64_t i = 0; i < load_.evaluations; ++i) {
      const auto start = SteadyClock::now();
      const Judgement judgement = evaluate(task_of(i), style_of(i), Request::final);
      each_ms_.push_back(in_ms(SteadyClock::now() - start));
      count(judgement, i);
    }
    finish(in_ms(SteadyClock::now() - begin));
    return std::move(figures_);
  }

 private:
  const Task& task_of(int64_t i) const {
    return load_.tasks[static_cast<size_t>(i) % load_.tasks.size()];
  }
  /// Another style for a task in each round, and for neighbours within a round.
  size_t style_of(int64_t i) const {
    const size_t tasks = load_.tasks.size(), at = static_cast<size_t>(i);
    return (at % tasks + at / tasks) % load_.sources.at(task_of(i).id).size();
  }

  Judgement evaluate(const Task& task, size_t style, Request request) {
    std::string source = load_.sources.at(task.id).at(style);
    if (!load_.repeat_sources) {
      source += "// " + nonce_ + ' ' + std::to_string(++made_) + '\n';
    }
    const Submission submission{task.id, "cpu", {{"kernel.cpp", std::move(source)}}};
    return backend_.evaluate(task, submission, request, evaluation_budget);
  }

  void count(const Judgement& judgement, int64_t i) {
    const auto* verdict = std::get_if<Verdict>(&judgement);
    if (verdict == nullptr) {
      const auto& failure = std::get<InfraFailure>(judgement);
      ++figures_.verdicts[std::string{to_string(failure.kind)}];
      note(i, failure.detail);
      return;
    }
    ++figures_.verdicts[std::string{to_string(verdict->outcome)}];
    if (!verdict->correct()) note(i, verdict->feedback);
    double other = each_ms_.back();
    for (const auto& [name, ms] : verdict->phase_ms) {
      phase_ms_[name].push_back(ms);
      other -= ms;
    }
    phase_ms_["other"].push_back(other);
  }

  void note(int64_t i, const std::string& said) {
    figures_.not_passed.push_back(task_of(i).id + ", style " + std::to_string(style_of(i)) + ": " +
                                  said);
  }

  void finish(double wall_ms) {
    const auto evaluations = static_cast<double>(load_.evaluations);
    for (const auto& [name, values] : phase_ms_) {
      const double sum = std::accumulate(values.begin(), values.end(), 0.0);
      figures_.phases[name] = {sum / evaluations, median_or_zero(values), sum / wall_ms};
    }
    figures_.evaluations = load_.evaluations;
    figures_.seconds = wall_ms / 1000;
    figures_.per_second = evaluations / figures_.seconds;
    figures_.median_ms = median_or_zero(each_ms_);
    figures_.median_compile_ms = median_or_zero(phase_ms_["compile"]);
  }

  SandboxBackend& backend_;
  const EvaluationLoad& load_;
  std::string nonce_;  // of this run, so that no earlier run compiled the same text
  uint64_t made_ = 0;
  std::map<std::string, std::vector<double>> phase_ms_;
  std::vector<double> each_ms_;
  EvaluationFigures figures_;
};

}  // namespace

Result<EvaluationFigures> measure_evaluations(SandboxBackend& backend, const EvaluationLoad& load) {
  for (const Task& task : load.tasks) {
    if (load.sources.count(task.id) == 0)
      return fail(ErrorCode::not_found, task.id + ": no kernel was written for this task");
  }
  Measurement measurement{backend, load};
  if (auto ready = measurement.prepare(); !ready) return tl::unexpected(std::move(ready.error()));
  return measurement.run();
}

}  // namespace warpsmith::actors
