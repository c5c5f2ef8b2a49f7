// SPDX-License-Identifier: Apache-2.0
// The chat format: the text before, between and after an agent's turns, as ChatML, as in Llama 3 or
// as a model folder's own template writes it. Trajectories and demonstrations are both encoded
// piece by piece, so that their token boundaries agree. Pure: the template was run elsewhere.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/text/marked_text.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

class Tokenizer;

struct ChatMessage {
  std::string role;  // "system", "user", "assistant" or "tool"
  std::string content;
  bool train = false;  // an assistant's turn to train on
};

/// A piece of text that the model samples as a whole (`action`) or not at all.
struct ChatPiece {
  MarkedText text;
  bool action = false;
};

/// The text before and after the content of a message.
struct MessageFrame {
  std::string before;
  std::string after;
};

/// The text around all messages of a conversation. The default is ChatML.
struct ChatFrame {
  MessageFrame system{"<|im_start|>system\n", "<|im_end|>\n"};  // can only come first
  std::string without_system;  // before a conversation without a system message
  MessageFrame user{"<|im_start|>user\n", "<|im_end|>\n"};
  MessageFrame results = user;                    // of tool calls
  std::string start = "<|im_start|>assistant\n";  // before a turn that the model samples
  std::string end = "<|im_end|>";                 // the model samples it at the end of its turns
  std::string after = "\n";                       // between an end and the next message

  bool operator==(const ChatFrame&) const;
};

/// The frame of the Llama 3 family.
ChatFrame llama3_frame();

/// The frame for a template's renderings of known conversations (scripts/render_chat_template.py
/// prints them as JSON). Tool results are written as user messages if the template has no place for
/// them. `unsupported` says why the template is not a frame, or that there is none.
Result<ChatFrame> frame_of_renderings(std::string_view json, const Tokenizer& tokenizer);

/// The frame named "chatml" or "llama3"; `unsupported` if the vocabulary lacks its end-of-turn
/// token.
Result<ChatFrame> frame_named(std::string_view name, const Tokenizer& tokenizer);

/// The text before the first sampled token. Leaves out an empty system message. The user's message
/// is untrusted; the system message is trusted and shows the call syntax.
MarkedText chat_prompt(std::string_view system, std::string_view user, const ChatFrame& frame = {});

/// The text between an assistant's end-of-turn token and the next sampled token: the results of its
/// calls, one <tool_response> each. Results are untrusted; invalid UTF-8 is replaced.
MarkedText tool_responses(std::span<const std::string> results, const ChatFrame& frame = {});

/// A conversation as pieces. Consecutive tool messages share one turn. An assistant's piece
/// includes its end-of-turn token, and is an action if `train` is set.
std::vector<ChatPiece> chat_pieces(std::span<const ChatMessage> messages,
                                   const ChatFrame& frame = {});

/// `text` with a space inserted into the call syntax and into what looks like a control token.
/// All untrusted text passes through it: to a model, a tag of plain letters is a tag too.
std::string escape_control_tokens(std::string_view text);

}  // namespace warpsmith::policy
