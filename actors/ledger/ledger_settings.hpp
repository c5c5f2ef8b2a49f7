// SPDX-License-Identifier: Apache-2.0
// The ledger's settings from the configuration of a run.
#pragma once

#include "actors/ledger/ledger.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// `learns`: false for a run without a learner, which needs no bound on staleness.
LedgerSettings ledger_settings(const RunConfig& config, bool learns);

}  // namespace warpsmith::actors
