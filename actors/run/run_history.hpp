// SPDX-License-Identifier: Apache-2.0
// What a run recorded of its tasks before it resumed. Tasks go by the hash of their content, so
// that one whose text has changed begins anew.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "actors/ledger/ledger_store.hpp"
#include "actors/run/run_inputs.hpp"

namespace warpsmith::actors {

struct RunHistory {
  OutcomesByTask outcomes;               // in order of admission, without submission hashes
  std::map<std::string, uint64_t> kept;  // by content hash: trajectories that were not dropped
};

Result<RunHistory> read_run_history(RunDatabase& db);

/// Plans `samples` of each task less those that the run has, and no trajectory beyond them.
/// `admitted`: trajectories of the run up to now.
void plan_samples(RunInputs& inputs, int64_t samples, const RunHistory& history, uint64_t admitted);

/// Lets a run that trains or collects go on: the curriculum gets the recorded outcomes, and a
/// collection samples what it lacks.
Result<void> add_history(RunInputs& inputs, LedgerStore& store);

}  // namespace warpsmith::actors
