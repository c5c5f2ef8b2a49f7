// SPDX-License-Identifier: Apache-2.0
#include "actors/ledger/ledger_settings.hpp"

namespace warpsmith::actors {

LedgerSettings ledger_settings(const RunConfig& config, bool learns) {
  LedgerSettings settings;
  settings.trajectories = static_cast<uint64_t>(config.run.trajectories);
  settings.limits.max_lag = static_cast<uint32_t>(config.learner.max_lag);
  settings.limits.max_in_flight = static_cast<uint64_t>(config.ledger.max_in_flight);
  settings.expected_per_step = static_cast<double>(config.learner.step.trajectories);
  settings.unlimited = !learns;
  settings.group_commit = config.ledger.group_commit;
  return settings;
}

}  // namespace warpsmith::actors
