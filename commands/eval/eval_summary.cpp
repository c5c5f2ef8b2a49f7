// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/eval_summary.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "runtime/median.hpp"
#include "runtime/random_stream.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::commands {
namespace {

constexpr int resamples = 2000;

using ByTask = std::map<std::string, std::vector<EvalSample>>;

bool is_faster(const EvalSample& sample, std::optional<double> EvalSample::* speedup) {
  return sample.passed && clearly_faster((sample.*speedup).value_or(0));
}

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

/// The mean reward of one resample: as many samples of each task, drawn with replacement.
double resampled_mean(const ByTask& tasks, RandomStream& random) {
  double sum = 0;
  size_t count = 0;
  for (const auto& [task, samples] : tasks) {
    for (size_t i = 0; i < samples.size(); ++i) sum += samples[random.below(samples.size())].reward;
    count += samples.size();
  }
  return sum / static_cast<double>(count);
}

/// The 95 % interval of the values that `draw` returns.
template <class Draw>
std::pair<double, double> bootstrap(uint64_t seed, Draw draw) {
  RandomStream random{seed, "eval-bootstrap"};
  std::vector<double> means(resamples);
  for (double& mean : means) mean = draw(random);
  std::ranges::sort(means);
  return {means[resamples * 25 / 1000], means[resamples * 975 / 1000]};
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double resampled_mean(const std::vector<double>& values, RandomStream& random) {
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += values[random.below(values.size())];
  return sum / static_cast<double>(values.size());
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
  if (std::ranges::any_of(samples, [](const EvalSample& s) { return s.strict.has_value(); })) {
    figures.strict_pass_rate = share([](const EvalSample& s) { return s.strict.value_or(false); });
  }
  const auto faster = [&](std::optional<double> EvalSample::* speedup) {
    return share([speedup](const EvalSample& s) { return is_faster(s, speedup); });
  };
  figures.fast_eager = faster(&EvalSample::speedup_eager);
  figures.fast_compile = faster(&EvalSample::speedup_compile);
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
  if (samples.empty()) return summary;
  const auto draw = [&](RandomStream& random) { return resampled_mean(tasks, random); };
  std::tie(summary.mean_reward_low, summary.mean_reward_high) = bootstrap(seed, draw);
  return summary;
}

std::optional<double> median_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return median(values);
}

EvalOutcomes outcomes_of(const std::vector<EvalSample>& samples) {
  EvalOutcomes outcomes;
  for (const EvalSample& sample : samples) {
    outcomes.rewards[sample.task_id].push_back(sample.reward);
    outcomes.passed[sample.task_id].push_back(sample.passed ? 1 : 0);
  }
  return outcomes;
}

EvalDifference paired_difference(const ValuesByTask& before, const ValuesByTask& after,
                                 uint64_t seed) {
  std::vector<std::pair<const std::vector<double>*, const std::vector<double>*>> pairs;
  std::vector<double> differences;
  for (const auto& [task, old] : before) {
    const auto found = after.find(task);
    if (found == after.end() || old.empty() || found->second.empty()) continue;
    pairs.emplace_back(&old, &found->second);
    differences.push_back(mean_of(found->second) - mean_of(old));
  }
  if (pairs.empty()) return {};
  EvalDifference difference{pairs.size(), mean_of(differences), 0, 0};
  std::tie(difference.low, difference.high) = bootstrap(seed, [&](RandomStream& random) {
    double sum = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
      const auto& [old, now] = pairs[random.below(pairs.size())];
      sum += resampled_mean(*now, random) - resampled_mean(*old, random);
    }
    return sum / static_cast<double>(pairs.size());
  });
  return difference;
}

}  // namespace warpsmith::commands
