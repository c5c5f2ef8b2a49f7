// SPDX-License-Identifier: Apache-2.0
// A run on disk, opened for writing: its folder with the lock, its ledger, its checkpoints.
#pragma once

#include <memory>

#include "actors/ledger/ledger.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::actors {

/// Where the weights of this incarnation come from.
struct Origin {
  PolicyVersion version;             // (incarnation, step)
  std::filesystem::path checkpoint;  // empty: the model's own folder
};

/// Held until the run ends. The ledger source goes to the ledger actor.
struct RunSession {
  RunFolder folder;
  std::shared_ptr<LedgerSource> ledger;
  std::shared_ptr<const CheckpointStore> checkpoints;
  Origin origin;
};

/// Makes a run folder, writes its configuration and stack, and begins incarnation 1.
Result<RunSession> begin_run(const RunConfig& config, const std::string& config_name,
                             const std::string& stack_json);

/// Goes on with a run from its newest whole checkpoint. What newer checkpoints were damaged is in
/// the log. `locked` names the process that holds the folder; `not_found`: the ledger knows of a
/// checkpoint, but there is no whole one. What else `config` needs is still to be read: call
/// `keep_config` then, so that one that cannot be carried out does not stay.
Result<RunSession> resume_run(const RunConfig& config, const std::filesystem::path& folder,
                              const std::string& stack_json);

/// `config` becomes the configuration of the run.
Result<void> keep_config(const RunSession& session, const RunConfig& config);

/// The configuration that a run was started, or last resumed, with; and `overrides` on top.
Result<RunConfig> config_of_run(const std::filesystem::path& folder,
                                const std::vector<std::string>& overrides);

}  // namespace warpsmith::actors
