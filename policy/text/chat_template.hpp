// SPDX-License-Identifier: Apache-2.0
// The chat frame that a model folder's own template writes. Pure: the template was run elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "policy/text/chat_turns.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// The frame for a template's renderings of known conversations (scripts/render_chat_template.py
/// prints them as JSON). Tool results come as the user's messages if the template has no place for
/// them. `unsupported` says in which way the template is not a frame, or that there is none.
Result<ChatFrame> frame_of_renderings(std::string_view json, const Tokenizer& tokenizer);

/// The frame named "chatml" or "llama3"; `unsupported` if the vocabulary lacks its end-of-turn
/// token.
Result<ChatFrame> frame_named(std::string_view name, const Tokenizer& tokenizer);

}  // namespace warpsmith::policy
