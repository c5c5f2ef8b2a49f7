// SPDX-License-Identifier: Apache-2.0
// The same steps on one rank of a learner and on several.
#pragma once

#include <filesystem>
#include <string>

#include "policy/learn/bench_ranks.hpp"
#include "runtime/result.hpp"

namespace warpsmith::commands {

struct RanksBenchOptions {
  std::filesystem::path
      model;              // a folder in Hugging Face layout; on a GPU its weights are not read
  LearnerConfig learner;  // device, gpu, critic, threads; `gpus` is the number of ranks
  policy::RanksShape shape;
  uint64_t seed = 1;
};

struct RanksBenchFigures {
  int64_t parameters = 0;
  policy::RanksFigures one, several;

  double speedup() const { return several.tokens_per_s / one.tokens_per_s; }
  /// The largest difference between losses of the same step, relative to the larger loss.
  double loss_gap() const;
};

Result<RanksBenchFigures> measure_ranks(const RanksBenchOptions& options);

/// One JSON object, and a table.
std::string json_of(const RanksBenchFigures& figures, const RanksBenchOptions& options);
std::string text_of(const RanksBenchFigures& figures, const RanksBenchOptions& options);

}  // namespace warpsmith::commands
