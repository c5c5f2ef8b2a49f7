// SPDX-License-Identifier: Apache-2.0
#include "actors/synthesis/synthesis_settings.hpp"

#include <algorithm>

#include "actors/composer/composer_settings.hpp"

namespace warpsmith::actors {

namespace {

constexpr size_t least_ready = 8;  // of a run whose tasks are all composed
constexpr size_t most_ready = 64;  // an ingest takes seconds, so thousands of tasks are not awaited

ComposingSettings composing_settings(const RunConfig& config, const std::filesystem::path& run) {
  const SynthesisConfig& c = config.synthesis;
  if (c.composers() == 0) return {};
  ComposingSettings settings;
  settings.candidates = static_cast<uint64_t>(c.compose.candidates);
  settings.folder = run / "synthesis";
  settings.origin = composing_origin(config);
  settings.composers = static_cast<size_t>(c.composers());
  return settings;
}

}  // namespace

SynthesisSettings synthesis_settings(const RunConfig& config, size_t tasks,
                                     const std::filesystem::path& run) {
  SynthesisSettings settings;
  settings.seed = static_cast<uint64_t>(config.run.seed);
  // All tasks, so that their mix is the same from the first trajectory to the last.
  settings.min_ready = tasks > 0 ? std::min(tasks, most_ready) : least_ready;
  settings.mixed = tasks > most_ready;
  // Evaluations may stand before an ingest in the sandbox's queue.
  settings.ingest_timeout = std::max(settings.ingest_timeout, 3 * config.sandbox.limits.ingest);
  settings.curriculum = config.synthesis.curriculum;
  settings.composing = composing_settings(config, run);
  settings.max_tasks = static_cast<size_t>(config.synthesis.max_tasks);
  return settings;
}

}  // namespace warpsmith::actors
