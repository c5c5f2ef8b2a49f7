// SPDX-License-Identifier: Apache-2.0
// The chat format: the text before, between and after an agent's turns. Trajectories and
// demonstrations are both encoded piece by piece, so that their token boundaries agree. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warpsmith::policy {

class Tokenizer;

struct ChatMessage {
  std::string role;  // "system", "user", "assistant" or "tool"
  std::string content;
  bool train = false;  // an assistant's turn to train on
};

/// A piece of text that the model samples as a whole (`action`) or not at all.
struct ChatPiece {
  std::string text;
  bool action = false;
};

/// The text around a message: open, role, close, content, end, after. The default is ChatML.
struct ChatFrame {
  std::string first;  // before the first message
  std::string open = "<|im_start|>";
  std::string close = "\n";
  std::string end = "<|im_end|>";  // the model samples it at the end of its turns
  std::string after = "\n";        // between an end and the next open
  std::string tool_role = "user";  // the role of tool results
};
/// The frame of the Llama 3 family.
ChatFrame llama3_frame();
/// The frame for an `agent.chat_template`: "chatml", "llama3", or "auto" (by the vocabulary).
ChatFrame frame_named(std::string_view name, const Tokenizer& tokenizer);

/// The text before the first sampled token. Leaves out an empty system message. Defuses control
/// tokens in the user's message; the system message is trusted and shows the call syntax.
std::string chat_prompt(std::string_view system, std::string_view user,
                        const ChatFrame& frame = {});

/// The text between an assistant's end-of-turn token and the next sampled token: the results of its
/// calls, one <tool_response> each. Defuses control tokens and replaces invalid UTF-8.
std::string tool_responses(std::span<const std::string> results, const ChatFrame& frame = {});

/// A conversation as pieces. Consecutive tool messages share one turn. An assistant's piece
/// includes its end-of-turn token, and is an action if `train` is set.
std::vector<ChatPiece> chat_pieces(std::span<const ChatMessage> messages,
                                   const ChatFrame& frame = {});

/// `text` with a space inserted into every control token, which turns it into plain text.
std::string defused(std::string_view text);

}  // namespace warpsmith::policy
