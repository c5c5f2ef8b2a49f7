// SPDX-License-Identifier: Apache-2.0
#include "policy/text/chat_turns.hpp"

#include <array>

namespace warpsmith::policy {
namespace {

constexpr std::string_view assistant_start = "<|im_start|>assistant\n";

std::string message_text(std::string_view role, std::string_view content) {
  std::string text = "<|im_start|>";
  return text.append(role).append("\n").append(content).append(turn_end).append("\n");
}

std::string response_text(std::string_view result) {
  return "<tool_response>\n" + defused(result) + "\n</tool_response>";
}

size_t control_token_at(std::string_view text) {
  static constexpr std::array<std::string_view, 7> tokens{
      "<|im_start|>", "<|im_end|>",      "<|endoftext|>",   "<tool_call>",
      "</tool_call>", "<tool_response>", "</tool_response>"};
  for (const std::string_view token : tokens) {
    if (text.starts_with(token)) return token.size();
  }
  return 0;
}

}  // namespace

std::string defused(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '<' && control_token_at(text.substr(i)) != 0) out += ' ';
  }
  return out;
}

std::string chat_prompt(std::string_view system, std::string_view user) {
  std::string text = system.empty() ? std::string() : message_text("system", system);
  return text + message_text("user", user) + std::string(assistant_start);
}

std::string tool_responses(std::span<const std::string> results) {
  std::string content;
  for (const std::string& result : results) {
    if (!content.empty()) content += '\n';
    content += response_text(result);
  }
  return "\n" + message_text("user", content) + std::string(assistant_start);
}

namespace {

/// Gathers pieces; text between two sampled turns becomes one piece.
class PieceList {
 public:
  void add_user(std::string_view role, std::string_view content) {
    end_results();
    pending_ += message_text(role, content);
  }
  void add_result(const std::string& content) { results_.push_back(content); }
  void add_assistant(const ChatMessage& message) {
    if (results_.empty()) {
      pending_ += assistant_start;
    } else {
      pending_ += tool_responses(results_).substr(1);  // the newline is there already
      results_.clear();
    }
    pieces_.push_back({std::move(pending_), false});
    pieces_.push_back({message.content + std::string(turn_end), message.train});
    pending_ = "\n";
  }
  std::vector<ChatPiece> take() {
    end_results();
    if (!pending_.empty() && pending_ != "\n") pieces_.push_back({std::move(pending_), false});
    return std::move(pieces_);
  }

 private:
  void end_results() {
    if (results_.empty()) return;
    const std::string text = tool_responses(results_);
    pending_ += text.substr(1, text.size() - 1 - assistant_start.size());
    results_.clear();
  }

  std::vector<ChatPiece> pieces_;
  std::vector<std::string> results_;
  std::string pending_;
};

}  // namespace

std::vector<ChatPiece> chat_pieces(std::span<const ChatMessage> messages) {
  PieceList pieces;
  for (const ChatMessage& message : messages) {
    if (message.role == "assistant") {
      pieces.add_assistant(message);
    } else if (message.role == "tool") {
      pieces.add_result(message.content);
    } else {
      pieces.add_user(message.role, message.content);
    }
  }
  return pieces.take();
}

}  // namespace warpsmith::policy
