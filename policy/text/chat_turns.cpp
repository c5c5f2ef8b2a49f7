// SPDX-License-Identifier: Apache-2.0
#include "policy/text/chat_turns.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "policy/text/unicode.hpp"

namespace warpsmith::policy {
namespace {

/// The results as one message.
MarkedText results_text(const ChatFrame& frame, std::span<const std::string> results) {
  MarkedText text(frame.results.before);
  for (size_t i = 0; i < results.size(); ++i) {
    text.add(std::string(i == 0 ? "" : "\n") + "<tool_response>\n");
    text.add_foreign(defused(to_valid_utf8(results[i]))).add("\n</tool_response>");
  }
  return text.add(frame.results.after);
}

MarkedText system_text(const ChatFrame& frame, std::string_view content) {
  return MarkedText(frame.system.before + std::string(content) + frame.system.after);
}

MarkedText user_text(const ChatFrame& frame, std::string_view content) {
  return MarkedText(frame.user.before).add_foreign(defused(content)).add(frame.user.after);
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
  explicit PieceList(const ChatFrame& frame) : frame_(frame) {}

  void add(const ChatMessage& message) {
    if (std::exchange(first_, false) && message.role != "system") {
      pending_.add(frame_.without_system);
    }
    if (message.role == "tool") return results_.push_back(message.content);
    end_results();
    if (message.role == "assistant") return add_assistant(message);
    const bool is_ours = message.role == "system";
    pending_.add(is_ours ? system_text(frame_, message.content)
                         : user_text(frame_, message.content));
  }
  std::vector<ChatPiece> take() {
    end_results();
    if (pending_.text() != frame_.after) pieces_.push_back({std::move(pending_), false});
    return std::move(pieces_);
  }

 private:
  void add_assistant(const ChatMessage& message) {
    pieces_.push_back({std::move(pending_.add(frame_.start)), false});
    pieces_.push_back({MarkedText(message.content + frame_.end), message.train});
    pending_ = MarkedText(frame_.after);
  }
  void end_results() {
    if (!results_.empty()) pending_.add(results_text(frame_, results_));
    results_.clear();
  }

  const ChatFrame& frame_;
  std::vector<ChatPiece> pieces_;
  std::vector<std::string> results_;  // not written yet
  MarkedText pending_;
  bool first_ = true;  // no message came yet
};

}  // namespace

bool ChatFrame::operator==(const ChatFrame& other) const {
  const auto all = [](const ChatFrame& f) {
    return std::tie(f.system.before, f.system.after, f.without_system, f.user.before, f.user.after,
                    f.results.before, f.results.after, f.start, f.end, f.after);
  };
  return all(*this) == all(other);
}

ChatFrame llama3_frame() {
  const std::string first = "<|begin_of_text|>";
  const auto header = [](const std::string& role) {
    return "<|start_header_id|>" + role + "<|end_header_id|>\n\n";
  };
  ChatFrame frame;
  frame.system = {first + header("system"), "<|eot_id|>"};
  frame.without_system = first;
  frame.user = {header("user"), "<|eot_id|>"};
  frame.results = {header("ipython"), "<|eot_id|>"};
  frame.start = header("assistant");
  frame.end = "<|eot_id|>";
  frame.after = "";
  return frame;
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

MarkedText chat_prompt(std::string_view system, std::string_view user, const ChatFrame& frame) {
  MarkedText text = system.empty() ? MarkedText(frame.without_system) : system_text(frame, system);
  return text.add(user_text(frame, user)).add(frame.start);
}

MarkedText tool_responses(std::span<const std::string> results, const ChatFrame& frame) {
  return MarkedText(frame.after).add(results_text(frame, results)).add(frame.start);
}

std::vector<ChatPiece> chat_pieces(std::span<const ChatMessage> messages, const ChatFrame& frame) {
  PieceList pieces{frame};
  for (const ChatMessage& message : messages) pieces.add(message);
  return pieces.take();
}

}  // namespace warpsmith::policy
