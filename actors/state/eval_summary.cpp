// SPDX-License-Identifier: Apache-2.0
#include "actors/state/eval_summary.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/random_stream.hpp"

namespace warpsmith::actors {
namespace {

constexpr int resamples = 2000;

using ByTask = std::map<std::string, std::vector<EvalSample>>;

std::optional<double> geometric_mean(const std::vector<EvalSample>& samples,
                                     std::optional<double> EvalSample::* speedup) {
  double sum = 0;
  size_t count = 0;
  for (const EvalSample& sample : samples) {
    if (!sample.passed || !(sample.*speedup) || *(sample.*speedup) <= 0) continue;
    sum += std::log(*(sample.*speedup));
    ++count;
  }
  if (count == 0) return std::nullopt;
  return std::exp(sum / static_cast<double>(count));
}

/// Mean reward of one resample: as many samples of each task as there are, with replacement.
double resampled_mean(const ByTask& tasks, RandomStream& random) {
  double sum = 0;
  size_t count = 0;
  for (const auto& [task, samples] : tasks) {
    for (size_t i = 0; i < samples.size(); ++i) sum += samples[random.below(samples.size())].reward;
    count += samples.size();
  }
  return sum / static_cast<double>(count);
}

void bootstrap(const ByTask& tasks, uint64_t seed, EvalSummary& summary) {
  RandomStream random{seed, "eval-bootstrap"};
  std::vector<double> means(resamples);
  for (double& mean : means) mean = resampled_mean(tasks, random);
  std::ranges::sort(means);
  summary.mean_reward_low = means[resamples * 25 / 1000];
  summary.mean_reward_high = means[resamples * 975 / 1000];
}

}  // namespace

EvalFigures figures_of(const std::vector<EvalSample>& samples) {
  EvalFigures figures;
  figures.samples = samples.size();
  if (samples.empty()) return figures;
  const auto share = [&](auto&& counts) {
    return static_cast<double>(std::ranges::count_if(samples, counts)) /
           static_cast<double>(samples.size());
  };
  figures.pass_rate = share([](const EvalSample& s) { return s.passed; });
  figures.fast_eager = share([](const EvalSample& s) { return s.reward >= 2; });
  figures.fast_compile = share([](const EvalSample& s) { return s.reward >= 3; });
  for (const EvalSample& s : samples) figures.mean_reward += s.reward;
  figures.mean_reward /= static_cast<double>(samples.size());
  figures.geomean_eager = geometric_mean(samples, &EvalSample::speedup_eager);
  figures.geomean_compile = geometric_mean(samples, &EvalSample::speedup_compile);
  return figures;
}

EvalSummary summarize_eval(const std::vector<EvalSample>& samples, uint64_t seed) {
  EvalSummary summary;
  summary.all = figures_of(samples);
  ByTask tasks;
  for (const EvalSample& sample : samples) tasks[sample.task_id].push_back(sample);
  for (const auto& [task, its] : tasks) summary.by_task[task] = figures_of(its);
  if (!samples.empty()) bootstrap(tasks, seed, summary);
  return summary;
}

}  // namespace warpsmith::actors
