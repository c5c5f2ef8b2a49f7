// SPDX-License-Identifier: Apache-2.0
#include "policy/text/chat_turns.hpp"

#include <algorithm>
#include <array>

#include "policy/text/tokenizer.hpp"
#include "policy/text/unicode.hpp"

namespace warpsmith::policy {
namespace {

std::string message_text(const ChatFrame& frame, std::string_view role, std::string_view content) {
  std::string text = frame.open;
  return text.append(role)
      .append(frame.close)
      .append(content)
      .append(frame.end)
      .append(frame.after);
}

std::string assistant_start(const ChatFrame& frame) {
  return frame.open + "assistant" + frame.close;
}

/// The results as one message.
std::string results_text(const ChatFrame& frame, std::span<const std::string> results) {
  std::string content;
  for (const std::string& result : results) {
    if (!content.empty()) content += '\n';
    content.append("<tool_response>\n").append(defused(to_valid_utf8(result)));
    content += "\n</tool_response>";
  }
  return message_text(frame, frame.tool_role, content);
}

/// The beginning of the special tokens of all supported families, and the call syntax.
bool starts_control_token(std::string_view text) {
  static constexpr std::array<std::string_view, 5> tokens{"<|", "<tool_call>", "</tool_call>",
                                                          "<tool_response>", "</tool_response>"};
  return std::ranges::any_of(tokens, [&](std::string_view t) { return text.starts_with(t); });
}

/// Collects pieces; joins the text between two sampled turns.
class PieceList {
 public:
  explicit PieceList(const ChatFrame& frame) : frame_(frame), pending_(frame.first) {}

  void add(const ChatMessage& message) {
    if (message.role == "tool") {
      results_.push_back(message.content);
      return;
    }
    end_results();
    if (message.role == "assistant") {
      add_assistant(message);
    } else {
      const bool is_ours = message.role == "system";
      pending_ +=
          message_text(frame_, message.role, is_ours ? message.content : defused(message.content));
    }
  }
  std::vector<ChatPiece> take() {
    end_results();
    if (pending_ != frame_.after) pieces_.push_back({std::move(pending_), false});
    return std::move(pieces_);
  }

 private:
  void add_assistant(const ChatMessage& message) {
    pieces_.push_back({pending_ + assistant_start(frame_), false});
    pieces_.push_back({message.content + frame_.end, message.train});
    pending_ = frame_.after;
  }
  void end_results() {
    if (!results_.empty()) pending_ += results_text(frame_, results_);
    results_.clear();
  }

  const ChatFrame& frame_;
  std::vector<ChatPiece> pieces_;
  std::vector<std::string> results_;  // not written yet
  std::string pending_;
};

}  // namespace

ChatFrame llama3_frame() {
  return {"<|begin_of_text|>",
          "<|start_header_id|>",
          "<|end_header_id|>\n\n",
          "<|eot_id|>",
          "",
          "ipython"};
}

ChatFrame frame_named(std::string_view name, const Tokenizer& tokenizer) {
  const bool has_eot = tokenizer.id_of("<|eot_id|>").has_value();
  if (name == "llama3" || (name == "auto" && has_eot)) return llama3_frame();
  return {};
}

std::string defused(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '<' && starts_control_token(text.substr(i))) out += ' ';
  }
  return out;
}

std::string chat_prompt(std::string_view system, std::string_view user, const ChatFrame& frame) {
  std::string text = frame.first;
  if (!system.empty()) text += message_text(frame, "system", system);
  return text + message_text(frame, "user", defused(user)) + assistant_start(frame);
}

std::string tool_responses(std::span<const std::string> results, const ChatFrame& frame) {
  return frame.after + results_text(frame, results) + assistant_start(frame);
}

std::vector<ChatPiece> chat_pieces(std::span<const ChatMessage> messages, const ChatFrame& frame) {
  PieceList pieces{frame};
  for (const ChatMessage& message : messages) pieces.add(message);
  return pieces.take();
}

}  // namespace warpsmith::policy
