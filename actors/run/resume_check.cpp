// SPDX-License-Identifier: Apache-2.0
#include "actors/run/resume_check.hpp"

#include <sstream>

#include "actors/run/run_session.hpp"
#include "runtime/run/run_listing.hpp"

namespace warpsmith::actors {
namespace {

/// A setting of sampling in both configurations.
struct Setting {
  const char* key;
  double before;
  double now;
};

/// The run of an error message, and what to do.
struct Resumed {
  const std::string& run;
  const std::string& remedy;
};

double temperature_of(const RunConfig& c) {
  const bool greedy = c.run.stage == Stage::collect && c.collect.greedy;
  return greedy ? 0 : c.generator.temperature;
}

Result<void> check_same(const Setting& setting, const Resumed& resumed) {
  if (setting.before == setting.now) return {};
  std::ostringstream text;
  text << setting.key << ": expected " << setting.before << ", by which " << resumed.run
       << " has sampled its trajectories, got " << setting.now
       << ": PPO would train those with the ratios of another distribution; resume without this "
       << "change, or " << resumed.remedy;
  return fail(ErrorCode::invalid_config, text.str());
}

Result<bool> has_sampled(const RunPaths& run) {
  std::error_code ignored;
  if (!std::filesystem::exists(run.database(), ignored)) return false;
  const auto summary = read_summary(run);
  if (!summary) return tl::unexpected(summary.error());
  return summary->admitted > 0;
}

}  // namespace

Result<void> check_resumable(const RunConfig& before, const RunConfig& now, const std::string& run,
                             const std::string& remedy) {
  if (!samples(before.run.stage) && !samples(now.run.stage)) return {};
  const GeneratorConfig &was = before.generator, &is = now.generator;
  for (const Setting& setting : {Setting{"generator.temperature (0 by collect.greedy)",
                                         temperature_of(before), temperature_of(now)},
                                 Setting{"generator.top_p", was.top_p, is.top_p},
                                 Setting{"generator.top_k", static_cast<double>(was.top_k),
                                         static_cast<double>(is.top_k)}}) {
    if (auto same = check_same(setting, {run, remedy}); !same) return same;
  }
  return {};
}

Result<void> check_sampling(const std::filesystem::path& run, const RunConfig& now,
                            const std::string& remedy) {
  const auto sampled = has_sampled({run});
  if (!sampled) return tl::unexpected(sampled.error());
  if (!*sampled) return {};
  const auto before = config_of_run(run, {});
  if (!before) return tl::unexpected(before.error());
  return check_resumable(*before, now, run.string(), remedy);
}

}  // namespace warpsmith::actors
