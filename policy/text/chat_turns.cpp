// SPDX-License-Identifier: Apache-2.0
#include "policy/text/chat_turns.hpp"

#include <algorithm>
#include <array>

namespace warpsmith::policy {
namespace {

constexpr std::string_view assistant_start = "<|im_start|>assistant\n";

std::string message_text(std::string_view role, std::string_view content) {
  std::string text = "<|im_start|>";
  return text.append(role).append("\n").append(content).append(turn_end).append("\n");
}

std::string response_text(std::string_view result) {
  return "<tool_response>\n" + defused(valid_utf8(result)) + "\n</tool_response>";
}

/// Length of the well-formed character at the front, 0 if there is none (Unicode, table 3-7).
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  return length;
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

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = character_length(text);
    out.append(length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length));
    text.remove_prefix(std::max<size_t>(length, 1));
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
