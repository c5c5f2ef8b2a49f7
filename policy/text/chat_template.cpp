// SPDX-License-Identifier: Apache-2.0
#include "policy/text/chat_template.hpp"

#include <nlohmann/json.hpp>

namespace warpsmith::policy {
namespace {

using nlohmann::json;

/// The contents of the messages in the renderings, as in the script.
constexpr std::string_view system_content = "SystemContent7";
constexpr std::string_view user_content = "UserContent7";
constexpr std::string_view turn_content = "TurnContent7";
constexpr std::string_view next_content = "NextContent7";

tl::unexpected<Error> not_a_frame(const std::string& why) {
  return fail(ErrorCode::unsupported, "the chat template cannot be followed: " + why);
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
    auto closed = gaps_in(renderings_, "closed", {system_content, user_content});
    if (!closed) return tl::unexpected(std::move(closed.error()));
    auto open = gaps_in(renderings_, "open", {system_content, user_content});
    if (!open) return tl::unexpected(std::move(open.error()));
    frame_.user.after = (*closed)[2];
    frame_.start = (*open)[2];
    if (!cut_start(frame_.start, frame_.user.after)) {
      return not_a_frame("the beginning of a turn changes the message before it");
    }
    frame_.system.before = (*open)[0];
    between_ = (*open)[1];
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
    auto bare = gaps_in(renderings_, "no_system", {user_content});
    if (!bare) return tl::unexpected(std::move(bare.error()));
    frame_.system.after = between_;
    frame_.without_system = (*bare)[0];
    const bool same = cut_end(frame_.system.after, frame_.user.before) &&
                      cut_end(frame_.without_system, frame_.user.before) &&
                      (*bare)[1] == frame_.user.after + frame_.start;
    if (!same) return not_a_frame("the text around a user's message depends on its place");
    return {};
  }

  /// From a message of the role `tool` after a turn. False if it cannot be told.
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
