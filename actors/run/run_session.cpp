// SPDX-License-Identifier: Apache-2.0
#include "actors/run/run_session.hpp"

#include "runtime/log.hpp"

namespace warpsmith::actors {
namespace {

/// The newest whole checkpoint that the ledger has recorded. None is an error if the ledger has
/// recorded one: a run that lost its checkpoints must not silently start over.
Result<CheckpointSearch> find_checkpoint(const CheckpointStore& checkpoints,
                                         const LedgerStore& ledger) {
  auto search = checkpoints.newest(ledger.last_step());
  if (!search) return search;
  for (const std::string& complaint : search->complaints) log::warn(complaint);
  if (search->found || ledger.durable_step() == 0) return search;
  const uint32_t step = ledger.durable_step();
  return fail(ErrorCode::not_found, "no whole checkpoint in " +
                                        checkpoints.path_of(step).parent_path().string() +
                                        ": the ledger has one of step " + std::to_string(step));
}

Result<Origin> begin_incarnation(LedgerSource& ledger, const CheckpointStore& checkpoints) {
  const auto search = find_checkpoint(checkpoints, ledger.store);
  if (!search) return tl::unexpected(search.error());
  const uint32_t step = search->found ? search->found->manifest.version.step : 0;
  auto resumption = ledger.store.begin(step);
  if (!resumption) return tl::unexpected(std::move(resumption.error()));
  ledger.resumption = std::move(*resumption);
  if (auto aside = checkpoints.set_aside_after(step); !aside) return tl::unexpected(aside.error());
  Origin origin{{ledger.resumption.incarnation, step}, {}};
  if (search->found) origin.checkpoint = search->found->folder;
  return origin;
}

Result<RunSession> open_session(const RunConfig& config, RunFolder folder) {
  const auto begun = SteadyClock::now();
  LedgerStoreOptions options;
  options.segments.rotate_bytes = static_cast<uint64_t>(config.ledger.segment_file_bytes);
  options.durability = Durability::on_flush;
  auto store = LedgerStore::open(folder.paths(), options);
  if (!store) return tl::unexpected(std::move(store.error()));
  if (!store->damage().empty()) log::warn(store->damage());
  auto checkpoints = CheckpointStore::open(folder.paths().checkpoints());
  if (!checkpoints) return tl::unexpected(std::move(checkpoints.error()));
  auto ledger = std::make_shared<LedgerSource>(LedgerSource{std::move(*store), {}, begun});
  auto origin = begin_incarnation(*ledger, *checkpoints);
  if (!origin) return tl::unexpected(std::move(origin.error()));
  return RunSession{std::move(folder), std::move(ledger),
                    std::make_shared<const CheckpointStore>(std::move(*checkpoints)),
                    std::move(*origin)};
}

/// False for a run that was killed before its database was made, and so has recorded nothing.
bool has_begun(const RunPaths& paths) {
  std::error_code error;
  return std::filesystem::exists(paths.database(), error) ||
         !std::filesystem::is_empty(paths.segments(), error);
}

}  // namespace

Result<RunSession> begin_run(const RunConfig& config, const std::string& config_name,
                             const std::string& stack_json, const RunFiles& more) {
  auto folder = RunFolder::create(config.run.folder, config.run.name, config_name);
  if (!folder) return tl::unexpected(std::move(folder.error()));
  for (const auto& [name, content] : more) {
    const auto written = write_file_durably(folder->paths().folder / name, content);
    if (!written) return tl::unexpected(written.error());
  }
  if (auto written = folder->write_stack(stack_json); !written) {
    return tl::unexpected(std::move(written.error()));
  }
  // The last before the database: with a configuration the folder is a run.
  if (auto written = folder->write_config(to_toml(config)); !written) {
    return tl::unexpected(std::move(written.error()));
  }
  return open_session(config, std::move(*folder));
}

Result<RunSession> resume_run(const RunConfig& config, const std::filesystem::path& path,
                              const std::string& stack_json) {
  auto folder = RunFolder::open(path, has_begun({path}) ? "run.db" : "config.toml");
  if (!folder) return tl::unexpected(std::move(folder.error()));
  if (auto written = folder->write_stack(stack_json); !written) {
    return tl::unexpected(std::move(written.error()));
  }
  return open_session(config, std::move(*folder));
}

Result<void> keep_config(const RunSession& session, const RunConfig& config) {
  return session.folder.write_config(to_toml(config));
}

Result<RunConfig> config_of_run(const std::filesystem::path& folder,
                                const std::vector<std::string>& overrides) {
  return load_run_config(RunPaths{folder}.config(), overrides);
}

}  // namespace warpsmith::actors
