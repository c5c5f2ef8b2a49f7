// SPDX-License-Identifier: Apache-2.0
// Chat templates of the supported families as code: what `apply_chat_template` would render.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "policy/text/chat_turns.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

enum class ChatFormat : uint8_t {
  chatml,  // <|im_start|>role … <|im_end|>: Qwen, SmolLM2
  llama3,  // <|start_header_id|>role<|end_header_id|> … <|eot_id|>
};

/// What a family's template does beyond its format.
struct ChatTemplate {
  ChatFormat format = ChatFormat::chatml;
  std::string bos;               // before everything (llama3)
  std::string default_system;    // when the conversation has no system message; empty: none
  bool tool_responses = false;   // tool messages become <tool_response> blocks of a user turn
  bool strips_thoughts = false;  // Qwen3: thoughts of turns before the last question are dropped
  bool announces_dates = false;  // Llama 3.1: the system message begins with two dates
};

struct ChatOptions {
  bool generation_prompt = false;     // end with the opening of an assistant's turn
  bool enable_thinking = true;        // false: open it with an empty thought (Qwen3)
  std::string today = "26 Jul 2024";  // where the template announces dates; its own default
};

/// Recognises a template by the text of its Jinja source. `unsupported` if it is none of ours.
/// `bos` is the beginning-of-text token that the template would print.
Result<ChatTemplate> recognize_chat_template(std::string_view jinja, std::string_view bos);

/// The text of a conversation. Contents are taken as they are: control tokens in them count.
std::string render_chat(const ChatTemplate& chat, std::span<const ChatMessage> messages,
                        const ChatOptions& options = {});

}  // namespace warpsmith::policy
