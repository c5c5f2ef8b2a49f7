// SPDX-License-Identifier: Apache-2.0
// A run on disk, opened for writing: its locked folder, its ledger, its checkpoints.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "actors/learner/origin.hpp"
#include "actors/ledger/ledger.hpp"
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

/// Makes a run folder with its configuration, its stack and `more`, and begins incarnation 1. A
/// process that dies here leaves a folder that is no run yet, or one that can be resumed.
Result<RunSession> begin_run(const RunConfig& config, const std::string& config_name,
                             const std::string& stack_json, const RunFiles& more = {});

/// Resumes a run from its newest whole checkpoint and logs damaged newer ones. `locked` names the
/// process that holds the folder; `not_found`: the ledger has a checkpoint, but no whole one is
/// left. Does not write `config`: call `keep_config` once all that it names is read, so that a
/// configuration that cannot run is not kept.
Result<RunSession> resume_run(const RunConfig& config, const std::filesystem::path& folder,
                              const std::string& stack_json);

/// Writes `config` as the configuration of the run.
Result<void> keep_config(const RunSession& session, const RunConfig& config);

/// The configuration that a run was started or last resumed with, and `overrides` on top.
Result<RunConfig> config_of_run(const std::filesystem::path& folder,
                                const std::vector<std::string>& overrides);

}  // namespace warpsmith::actors
