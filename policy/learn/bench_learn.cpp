// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/bench_learn.hpp"

#include <cmath>

#include "policy/learn/bench_support.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::policy {
namespace {

Segment random_turn(const LearnBenchOptions& o, int64_t turn, int64_t vocab, RandomStream& random) {
  Segment s;
  s.number = static_cast<uint32_t>(turn);
  const auto add = [&](int64_t count, bool sampled) {
    for (int64_t i = 0; i < count; ++i) {
      s.tokens.push_back(static_cast<int32_t>(random.below(static_cast<uint64_t>(vocab))));
      s.action_mask.push_back(sampled ? 1 : 0);
      s.log_probs.push_back(sampled ? -static_cast<float>(std::log(vocab)) : 0.0F);
      s.versions.emplace_back();
    }
  };
  if (turn == 0) add(o.prompt_tokens, false);
  add(o.action_tokens, true);
  add(o.result_tokens, false);
  return s;
}

struct Sums {
  double observing = 0;
  int64_t observed = 0;
  int64_t passes = 0;
};

void train_step(Trainer& trainer, const LearnBenchOptions& o, RandomStream& random, Sums& sums) {
  static constexpr TrajectoryId base = 1;
  for (int64_t i = 0; i < o.trajectories; ++i) {
    const TrajectoryId id = base + static_cast<TrajectoryId>(i);
    for (int64_t turn = 0; turn < o.turns; ++turn) {
      Segment s = random_turn(o, turn, trainer.model_config().vocab, random);
      s.trajectory = id;
      for (PolicyVersion& v : s.versions) v = trainer.version();
      const auto start = SteadyClock::now();
      must(trainer.observe(s));
      sums.observing += seconds_since(start);
      sums.observed += static_cast<int64_t>(s.size());
    }
    must(trainer.close(id, {.reward = random.uniform(), .verdict = VerdictClass::passed}));
    while (trainer.has_work()) {
      const Progress done = trainer.advance();
      if (done.step) sums.passes += done.step->forward_tokens;
    }
  }
}

}  // namespace

LearnBench bench_learn(Trainer& trainer, const LearnBenchOptions& options, uint64_t seed) {
  RandomStream random{seed, "bench.learn"};
  Sums warm_up;
  train_step(trainer, options, random, warm_up);
  Sums sums;
  const auto start = SteadyClock::now();
  for (int64_t i = 0; i < options.steps; ++i) train_step(trainer, options, random, sums);
  LearnBench out;
  out.seconds = seconds_since(start);
  out.observe_seconds = sums.observing;
  out.parameters = trainer.model_config().parameter_count();
  out.trained_tokens_per_s = static_cast<double>(sums.observed) / out.seconds;
  out.passes_tokens_per_s = static_cast<double>(sums.passes) / out.seconds;
  const double streamed = trainer.streams() ? static_cast<double>(sums.observed) : 0.0;
  const double work = 6.0 * static_cast<double>(sums.passes) + 2.0 * streamed;
  out.gflops = static_cast<double>(out.parameters) * work / out.seconds * 1e-9;
  return out;
}

}  // namespace warpsmith::policy
