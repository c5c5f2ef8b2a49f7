// SPDX-License-Identifier: Apache-2.0
#include "actors/synthesis/synthesis_settings.hpp"

#include <algorithm>

namespace warpsmith::actors {

SynthesisSettings synthesis_settings(const RunConfig& config, size_t tasks) {
  SynthesisSettings settings;
  settings.seed = static_cast<uint64_t>(config.run.seed);
  // All tasks, so that their mix is the same from the first trajectory to the last.
  settings.min_ready = tasks;
  // Evaluations may stand before an ingest in the sandbox's queue.
  settings.ingest_timeout = std::max(settings.ingest_timeout, 3 * config.sandbox.limits.ingest);
  settings.curriculum = config.synthesis.curriculum;
  settings.max_tasks = static_cast<size_t>(config.synthesis.max_tasks);
  return settings;
}

}  // namespace warpsmith::actors
