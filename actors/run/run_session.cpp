// SPDX-License-Identifier: Apache-2.0
#include "actors/run/run_session.hpp"

#include <fmt/format.h>

#include <sstream>

#include "runtime/log.hpp"
#include "runtime/run/run_listing.hpp"

namespace warpsmith::actors {
namespace {

/// The newest whole checkpoint that the ledger has recorded. If the ledger has recorded one but
/// none is found, that is an error: a run that lost its checkpoints must not silently start over.
Result<CheckpointSearch> find_checkpoint(const CheckpointStore& checkpoints,
                                         const LedgerStore& ledger) {
  TRY(auto search, checkpoints.newest(ledger.last_step()));
  for (const std::string& complaint : search.complaints) log::warn(complaint);
  if (search.found || ledger.durable_step() == 0) return search;
  const uint32_t step = ledger.durable_step();
  return fail(ErrorCode::not_found,
              fmt::format("no whole checkpoint in {}: the ledger has one of step {}",
                          checkpoints.path_of(step).parent_path().string(), step));
}

Result<Origin> begin_incarnation(LedgerSource& ledger, const CheckpointStore& checkpoints) {
  TRY(const auto search, find_checkpoint(checkpoints, ledger.store));
  const uint32_t step = search.found ? search.found->manifest.version.step : 0;
  TRY(auto resumption, ledger.store.begin(step));
  ledger.resumption = std::move(resumption);
  TRY_VOID(checkpoints.set_aside_after(step));
  Origin origin{{ledger.resumption.incarnation, step}, {}};
  if (search.found) origin.checkpoint = search.found->folder;
  return origin;
}

Result<RunSession> open_session(const RunConfig& config, RunFolder folder) {
  const auto begun = SteadyClock::now();
  LedgerStoreOptions options;
  options.segments.rotate_bytes = static_cast<uint64_t>(config.ledger.segment_file_bytes);
  options.durability = Durability::on_flush;
  TRY(auto store, LedgerStore::open(folder.paths(), options));
  if (!store.damage().empty()) log::warn(store.damage());
  TRY(auto checkpoints, CheckpointStore::open(folder.paths().checkpoints()));
  auto ledger = std::make_shared<LedgerSource>(LedgerSource{std::move(store), {}, begun});
  TRY(auto origin, begin_incarnation(*ledger, checkpoints));
  return RunSession{std::move(folder), std::move(ledger),
                    std::make_shared<const CheckpointStore>(std::move(checkpoints)),
                    std::move(origin)};
}

/// False for a run that was killed before its database was made and so has no records.
bool has_begun(const RunPaths& paths) {
  std::error_code error;
  return std::filesystem::exists(paths.database(), error) ||
         !std::filesystem::is_empty(paths.segments(), error);
}

/// A sampling setting in both configurations.
struct Setting {
  const char* key;
  double before;
  double now;
};

/// The run that an error message names, and the remedy.
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
  TRY(const auto summary, read_summary(run));
  return summary.admitted > 0;
}

}  // namespace

Result<RunSession> begin_run(const RunConfig& config, const std::string& config_name,
                             const std::string& stack_json, const RunFiles& more) {
  TRY(auto folder, RunFolder::create(config.run.folder, config.run.name, config_name));
  for (const auto& [name, content] : more) {
    TRY_VOID(write_file_durably(folder.paths().folder / name, content));
  }
  TRY_VOID(folder.write_stack(stack_json));
  // Written last before the database, because a folder with a configuration is a run.
  TRY_VOID(folder.write_config(to_toml(config)));
  return open_session(config, std::move(folder));
}

Result<RunSession> resume_run(const RunConfig& config, const std::filesystem::path& path,
                              const std::string& stack_json) {
  TRY(auto folder, RunFolder::open(path, has_begun({path}) ? "run.db" : "config.toml"));
  TRY_VOID(folder.write_stack(stack_json));
  return open_session(config, std::move(folder));
}

Result<void> keep_config(const RunSession& session, const RunConfig& config) {
  return session.folder.write_config(to_toml(config));
}

Result<RunConfig> config_of_run(const std::filesystem::path& folder,
                                const std::vector<std::string>& overrides) {
  return load_run_config(RunPaths{folder}.config(), overrides);
}

Result<void> check_resumable(const RunConfig& before, const RunConfig& now, const std::string& run,
                             const std::string& remedy) {
  if (!samples(before.run.stage) && !samples(now.run.stage)) return {};
  const GeneratorConfig &was = before.generator, &is = now.generator;
  for (const Setting& setting : {Setting{"generator.temperature (0 by collect.greedy)",
                                         temperature_of(before), temperature_of(now)},
                                 Setting{"generator.top_p", was.top_p, is.top_p},
                                 Setting{"generator.top_k", static_cast<double>(was.top_k),
                                         static_cast<double>(is.top_k)}}) {
    TRY_VOID(check_same(setting, {run, remedy}));
  }
  return {};
}

Result<void> check_sampling(const std::filesystem::path& run, const RunConfig& now,
                            const std::string& remedy) {
  TRY(const auto sampled, has_sampled({run}));
  if (!sampled) return {};
  TRY(const auto before, config_of_run(run, {}));
  return check_resumable(before, now, run.string(), remedy);
}

}  // namespace warpsmith::actors
