// SPDX-License-Identifier: Apache-2.0
// A rollout's settings from the configuration of a run.
#pragma once

#include "actors/rollout/rollout.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// `skill`: text of the contract's SKILL.md.
RolloutSettings rollout_settings(const RunConfig& config,
                                 std::shared_ptr<const policy::Tokenizer> tokenizer,
                                 std::vector<int32_t> stop_tokens, std::string skill);

}  // namespace warpsmith::actors
