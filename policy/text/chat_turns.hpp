// SPDX-License-Identifier: Apache-2.0
// The chat around an agent's turns: the pieces of text that stand before, between and after what
// the model samples. A trajectory is encoded piece by piece, and so are demonstrations: both learn
// and act on the same token boundaries.
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
  bool train = false;  // an assistant's turn that is learnt from
};

/// One piece: all of it sampled by the model (`action`), or none of it.
struct ChatPiece {
  std::string text;
  bool action = false;
};

/// How a family writes a message: open, role, close, content, end, after. The default is ChatML.
struct ChatFrame {
  std::string first;  // before everything
  std::string open = "<|im_start|>";
  std::string close = "\n";
  std::string end = "<|im_end|>";  // the model samples it at the end of its turns
  std::string after = "\n";        // between an end and the next open
  std::string tool_role = "user";  // the role under which results come
};
/// The frame of the Llama 3 family.
ChatFrame llama3_frame();
/// What `agent.chat_template` names: "chatml", "llama3", or "auto": by the tokens that the
/// vocabulary has.
ChatFrame frame_named(std::string_view name, const Tokenizer& tokenizer);

/// Everything before the first sampled token. An empty system message is left out. Control tokens
/// in the user's message are defused; the system message is ours and shows the call syntax.
std::string chat_prompt(std::string_view system, std::string_view user,
                        const ChatFrame& frame = {});

/// What follows an assistant's end-of-turn token up to the next sampled token: the results of its
/// calls, one <tool_response> each. Control tokens within a result are defused, bytes that are no
/// UTF-8 replaced.
std::string tool_responses(std::span<const std::string> results, const ChatFrame& frame = {});

/// A whole conversation as pieces. Consecutive tool messages share one turn. An assistant's piece
/// includes its end-of-turn token; it counts as action only where `train` is set.
std::vector<ChatPiece> chat_pieces(std::span<const ChatMessage> messages,
                                   const ChatFrame& frame = {});

/// `text` with a space put into every control token, so that quoting one does not act as one.
std::string defused(std::string_view text);

}  // namespace warpsmith::policy
