// SPDX-License-Identifier: Apache-2.0
// One long trajectory on a GPU: its gradient pass beside transformers, and a whole PPO update.
#pragma once

#include <filesystem>
#include <optional>

#include "policy/learn/bench_long.hpp"

namespace warpsmith::commands {

struct LongBenchOptions {
  std::filesystem::path model;  // a folder in Hugging Face layout; its weights are not read
  int gpu = 0;
  int64_t tokens = 131'072;
  int64_t turns = 128;
  bool update = false;                       // measure a whole update, too
  CriticKind critic = CriticKind::separate;  // of that update
  bool offload = false;                      // its kept prefixes and layer inputs go to the host
  bool no_peer = false;                      // do not run transformers
  uint64_t seed = 1;
};

struct LongBenchFigures {
  int64_t parameters = 0;
  policy::PassFigures pass;                               // the second of two
  std::optional<policy::PassFigures> peer;                // likewise
  std::optional<policy::UpdateFigures> streamed, at_use;  // with --update
};

Result<LongBenchFigures> measure_long(const LongBenchOptions& options);

}  // namespace warpsmith::commands
