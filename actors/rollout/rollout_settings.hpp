// SPDX-License-Identifier: Apache-2.0
// A rollout's settings from the configuration of a run.
#pragma once

#include "actors/rollout/rollout.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// How a model reads and writes.
struct ModelText {
  std::shared_ptr<const policy::Tokenizer> tokenizer;
  policy::ChatFrame frame;
  std::vector<int32_t> stop_tokens;
};

/// `skill`: text of the contract's SKILL.md.
RolloutSettings rollout_settings(const RunConfig& config, ModelText text, std::string skill);

}  // namespace warpsmith::actors
