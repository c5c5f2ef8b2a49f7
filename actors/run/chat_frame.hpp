// SPDX-License-Identifier: Apache-2.0
// How a configuration and a model folder say that messages are written.
#pragma once

#include <filesystem>

#include "policy/model/config.hpp"
#include "policy/text/chat_turns.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/config/agent_config.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

/// The frame that `agent.chat_template` names; for "auto", the one of the folder's own template.
/// `invalid_config` says what to set if there is none, or none that can be followed.
Result<policy::ChatFrame> chat_frame(const AgentConfig& agent, const policy::Tokenizer& tokenizer,
                                     const std::filesystem::path& folder);

/// Adds the token that ends a turn to the model's stop tokens, so that its exported copies stop
/// too.
void end_turns_by(const policy::ChatFrame& frame, const policy::Tokenizer& tokenizer,
                  policy::ModelConfig& model);

}  // namespace warpsmith::actors
