// SPDX-License-Identifier: Apache-2.0
// A run on disk, opened for writing: its locked folder, its ledger, its checkpoints; and whether it
// can resume with a changed configuration.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "actors/ledger/ledger.hpp"
#include "actors/weights/weight_store.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::actors {

/// Held until the run ends. The ledger actor shares the ledger source.
struct RunSession {
  RunFolder folder;
  std::shared_ptr<LedgerSource> ledger;
  std::shared_ptr<const CheckpointStore> checkpoints;
  Origin origin;
};

/// Files of a run folder by name, with their content.
using RunFiles = std::map<std::string, std::string>;

/// Makes a run folder with its configuration, its stack and `more`, and begins incarnation 1. If
/// the process dies here, the folder is either not a run yet or can be resumed.
Result<RunSession> begin_run(const RunConfig& config, const std::string& config_name,
                             const std::string& stack_json, const RunFiles& more = {});

/// Resumes a run from its newest whole checkpoint and logs damaged newer ones. `locked` names the
/// process that holds the folder; `not_found`: the ledger has a checkpoint, but no whole one is
/// left. Does not write `config`: call `keep_config` after reading everything that it names, so
/// that a configuration that cannot run is not stored.
Result<RunSession> resume_run(const RunConfig& config, const std::filesystem::path& folder,
                              const std::string& stack_json);

/// Writes `config` as the configuration of the run.
Result<void> keep_config(const RunSession& session, const RunConfig& config);

/// The configuration that a run was started or last resumed with, with `overrides` applied.
Result<RunConfig> config_of_run(const std::filesystem::path& folder,
                                const std::vector<std::string>& overrides);

/// Refuses sampling settings that differ from those that the run in `run` has sampled with: the
/// learner computes the ratios of PPO for one distribution. Applies to a stage that only collects
/// too, because a later resume may train on its samples. The error names the key, and `remedy`
/// after "resume without this change, or". Pure.
Result<void> check_resumable(const RunConfig& before, const RunConfig& now, const std::string& run,
                             const std::string& remedy);

/// The same for a run on disk, by its own configuration. A run without trajectories accepts any.
Result<void> check_sampling(const std::filesystem::path& run, const RunConfig& now,
                            const std::string& remedy);

}  // namespace warpsmith::actors
