// SPDX-License-Identifier: Apache-2.0
#include "actors/run/resume_check.hpp"

#include <sstream>

namespace warpsmith::actors {
namespace {

/// A setting of sampling in both configurations.
struct Setting {
  const char* key;
  double before;
  double now;
};

double temperature_of(const RunConfig& c) {
  const bool greedy = c.run.stage == Stage::collect && c.collect.greedy;
  return greedy ? 0 : c.generator.temperature;
}

Result<void> check_same(const Setting& setting, const std::string& run) {
  if (setting.before == setting.now) return {};
  std::ostringstream text;
  text << setting.key << ": expected " << setting.before << ", by which " << run
       << " has sampled its trajectories, got " << setting.now
       << ": PPO would train those with the ratios of another distribution; resume without this "
       << "change, or start a new run, whose model.folder can be a checkpoint of this one";
  return fail(ErrorCode::invalid_config, text.str());
}

}  // namespace

Result<void> check_resumable(const RunConfig& before, const RunConfig& now,
                             const std::string& run) {
  if (!samples(before.run.stage) && !samples(now.run.stage)) return {};
  const GeneratorConfig &was = before.generator, &is = now.generator;
  for (const Setting& setting : {Setting{"generator.temperature (0 by collect.greedy)",
                                         temperature_of(before), temperature_of(now)},
                                 Setting{"generator.top_p", was.top_p, is.top_p},
                                 Setting{"generator.top_k", static_cast<double>(was.top_k),
                                         static_cast<double>(is.top_k)}}) {
    if (auto same = check_same(setting, run); !same) return same;
  }
  return {};
}

}  // namespace warpsmith::actors
