// SPDX-License-Identifier: Apache-2.0
#include "policy/text/chat_format.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "policy/text/tokenizer.hpp"
#include "policy/text/unicode.hpp"

namespace warpsmith::policy {
namespace {

/// The results as one message.
MarkedText results_text(const ChatFrame& frame, std::span<const std::string> results) {
  MarkedText text(frame.results.before);
  for (size_t i = 0; i < results.size(); ++i) {
    text.add(std::string(i == 0 ? "" : "\n") + "<tool_response>\n");
    text.add_untrusted(escape_control_tokens(to_valid_utf8(results[i]))).add("\n</tool_response>");
  }
  return text.add(frame.results.after);
}

MarkedText system_text(const ChatFrame& frame, std::string_view content) {
  return MarkedText(frame.system.before + std::string(content) + frame.system.after);
}

MarkedText user_text(const ChatFrame& frame, std::string_view content) {
  return MarkedText(frame.user.before)
      .add_untrusted(escape_control_tokens(content))
      .add(frame.user.after);
}

/// The beginning of the special tokens of all supported families, and the call syntax.
bool starts_control_token(std::string_view text) {
  static constexpr std::array<std::string_view, 5> tokens{"<|", "<tool_call>", "</tool_call>",
                                                          "<tool_response>", "</tool_response>"};
  return std::ranges::any_of(tokens, [&](std::string_view t) { return text.starts_with(t); });
}

/// Collects pieces; joins text between two sampled turns.
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
    const bool is_trusted = message.role == "system";
    pending_.add(is_trusted ? system_text(frame_, message.content)
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

using nlohmann::json;

/// The contents of the messages in the renderings, as in the script.
constexpr std::string_view system_content = "SystemContent7";
constexpr std::string_view user_content = "UserContent7";
constexpr std::string_view turn_content = "TurnContent7";
constexpr std::string_view next_content = "NextContent7";

tl::unexpected<Error> not_a_frame(const std::string& why) {
  return fail(ErrorCode::unsupported, "the chat template cannot be used: " + why);
}

/// The texts around contents that must come once each, in order: one more than there are contents.
using Gaps = std::vector<std::string>;

Result<Gaps> gaps_in(const json& renderings, const char* name,
                     std::initializer_list<std::string_view> contents) {
  const auto found = renderings.find(name);
  if (found == renderings.end() || !found->is_string()) {
    const json& why = renderings.value("errors", json::object()).value(name, json());
    return not_a_frame(why.is_string() ? why.get<std::string>()
                                       : std::string(name) + " is missing");
  }
  const auto text = found->get<std::string>();
  Gaps gaps;
  size_t done = 0;
  for (const std::string_view content : contents) {
    const size_t at = text.find(content, done);
    if (at == std::string::npos || text.find(content, at + 1) != std::string::npos) {
      return not_a_frame("it does not show each message once, in order");
    }
    gaps.push_back(text.substr(done, at - done));
    done = at + content.size();
  }
  gaps.push_back(text.substr(done));
  return gaps;
}

bool cut_start(std::string& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.erase(0, start.size());
  return true;
}

bool cut_end(std::string& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.resize(text.size() - end.size());
  return true;
}

/// The special token that a text begins with; empty if there is none.
std::string leading_token(const std::string& text, const Tokenizer& tokenizer) {
  const auto tokens = tokenizer.encode(text);
  if (tokens.empty() || !tokenizer.is_special(tokens.front())) return {};
  std::string token{tokenizer.bytes_of(tokens.front())};
  return text.starts_with(token) ? token : std::string();
}

/// Reads the parts of a frame from the renderings, one after the other.
class FrameReader {
 public:
  FrameReader(const json& renderings, const Tokenizer& tokenizer)
      : renderings_(renderings), tokenizer_(tokenizer) {}

  Result<ChatFrame> read() {
    auto done = read_start();
    if (done) done = read_turn();
    if (done) done = read_system();
    if (!done) return tl::unexpected(std::move(done.error()));
    if (!read_results()) frame_.results = frame_.user;
    return frame_;
  }

 private:
  /// From a system and a user message, without and with the beginning of the next turn.
  Result<void> read_start() {
    TRY(auto closed, gaps_in(renderings_, "closed", {system_content, user_content}));
    TRY(auto open, gaps_in(renderings_, "open", {system_content, user_content}));
    frame_.user.after = closed[2];
    frame_.start = open[2];
    if (!cut_start(frame_.start, frame_.user.after)) {
      return not_a_frame("the beginning of a turn changes the message before it");
    }
    frame_.system.before = open[0];
    between_ = open[1];
    return {};
  }

  /// From an assistant's turn between two user messages.
  Result<void> read_turn() {
    auto gaps =
        gaps_in(renderings_, "turn", {system_content, user_content, turn_content, next_content});
    if (!gaps) return tl::unexpected(std::move(gaps.error()));
    if ((*gaps)[0] != frame_.system.before || (*gaps)[1] != between_) {
      return not_a_frame("later messages change earlier ones");
    }
    std::string& next = (*gaps)[3];
    frame_.end = leading_token(next, tokenizer_);
    if (frame_.end.empty()) {
      return not_a_frame("after a turn comes no special token of tokenizer.json but \"" +
                         next.substr(0, 32) + '"');
    }
    frame_.after = frame_.user.after;
    if (!cut_start(frame_.after, frame_.end)) frame_.after.clear();
    if (!cut_start(next, frame_.end + frame_.after) ||
        (*gaps)[4] != frame_.user.after + frame_.start) {
      return not_a_frame("the text around a message depends on its place");
    }
    frame_.user.before = next;
    return {};
  }

  /// From conversations with and without a system message.
  Result<void> read_system() {
    TRY(auto bare, gaps_in(renderings_, "no_system", {user_content}));
    frame_.system.after = between_;
    frame_.without_system = bare[0];
    const bool same = cut_end(frame_.system.after, frame_.user.before) &&
                      cut_end(frame_.without_system, frame_.user.before) &&
                      bare[1] == frame_.user.after + frame_.start;
    if (!same) return not_a_frame("the text around a user's message depends on its place");
    return {};
  }

  /// From a message of the role `tool` after a turn. False if that is not possible.
  bool read_results() {
    const auto gaps =
        gaps_in(renderings_, "results", {system_content, user_content, turn_content, next_content});
    if (!gaps || (*gaps)[0] != frame_.system.before || (*gaps)[1] != between_) return false;
    frame_.results = {(*gaps)[3], (*gaps)[4]};
    if (!cut_start(frame_.results.before, frame_.end + frame_.after) ||
        !cut_end(frame_.results.after, frame_.start)) {
      return false;
    }
    // The tags are written around each result anyway, and a result is text, not JSON.
    const bool tagged = cut_end(frame_.results.before, "<tool_response>\n");
    if (tagged) return cut_start(frame_.results.after, "\n</tool_response>");
    const bool quoted = cut_end(frame_.results.before, "\"");
    return !quoted || cut_start(frame_.results.after, "\"");
  }

  const json& renderings_;
  const Tokenizer& tokenizer_;
  ChatFrame frame_;
  std::string between_;  // the text between the system and the user message
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

std::string escape_control_tokens(std::string_view text) {
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

Result<ChatFrame> frame_of_renderings(std::string_view text, const Tokenizer& tokenizer) {
  const json renderings = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!renderings.is_object()) {
    return fail(ErrorCode::parse_failed, "renderings of the chat template: expected a JSON object");
  }
  if (renderings.empty()) return fail(ErrorCode::unsupported, "there is no chat template");
  return FrameReader(renderings, tokenizer).read();
}

Result<ChatFrame> frame_named(std::string_view name, const Tokenizer& tokenizer) {
  ChatFrame frame = name == "llama3" ? llama3_frame() : ChatFrame{};
  if (tokenizer.id_of(frame.end)) return frame;
  return fail(ErrorCode::unsupported, "tokenizer.json has no token " + frame.end +
                                          ", which ends the turns of " + std::string(name));
}

}  // namespace warpsmith::policy
