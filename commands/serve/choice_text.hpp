// SPDX-License-Identifier: Apache-2.0
// One answer as it grows: sampled tokens become text, tool calls, log-probabilities and a finish
// reason; text that may begin a stop string or a tool call is held back. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/serve/api_request.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/model_turn.hpp"

namespace warpsmith::commands {

/// Decides which part of a growing text may be sent: whole characters, in which no marker begins.
/// Bytes come in pieces of any size; a marker and a character may span several. Memory: the bytes
/// held back, fewer than the longest marker and one character, and everything after a marker.
class MarkerFilter {
 public:
  /// `markers`: none is empty.
  explicit MarkerFilter(std::vector<std::string> markers) : markers_(std::move(markers)) {}

  /// Adds bytes. Returns the text that may be sent now, as valid UTF-8; invalid bytes become
  /// U+FFFD. After the first marker it returns nothing more.
  std::string add(std::string_view bytes);
  /// True once a marker was found. Of several at one place, it is the first of the list.
  bool found() const { return found_; }
  /// The bytes held back; once a marker is found, from the marker on.
  const std::string& held() const { return held_; }
  /// Returns the bytes held back as valid UTF-8, and forgets them.
  std::string flush();

 private:
  std::string held_;
  std::vector<std::string> markers_;
  bool found_ = false;
};

/// A sampled token.
struct AnswerToken {
  int32_t token = 0;
  float log_prob = 0;  // natural
  FinishReason finish = FinishReason::none;
};

struct TokenLogProb {
  std::string bytes;    // of the token; possibly parts of characters
  double log_prob = 0;  // natural; at least `lowest_log_prob`
  size_t offset = 0;    // of the token's first byte in the answer
};
/// Replaces minus infinity, which JSON cannot express.
inline constexpr double lowest_log_prob = -9999.0;

/// A tool call of an answer.
struct ApiCall {
  std::string name;
  std::string arguments;  // JSON text of an object
};

/// What to add to an answer.
struct ChoiceDelta {
  std::string text;
  std::vector<ApiCall> calls;  // come all at once, with the end
  std::vector<TokenLogProb> log_probs;
  std::optional<std::string> finish;  // "stop", "length", "tool_calls": nothing follows

  bool empty() const { return text.empty() && calls.empty() && log_probs.empty() && !finish; }
};

/// The text of one choice of an answer.
class ChoiceText {
 public:
  /// References must outlive it.
  ChoiceText(const policy::Tokenizer& tokenizer, const ApiRequest& request, ToolSyntax syntax);

  /// Adds a sampled token. Ignored once the answer has ended.
  void add(const AnswerToken& sampled);
  /// What came since the last call.
  ChoiceDelta take();
  /// True once the answer has ended, by its last token or by a stop string.
  bool ended() const { return ended_; }
  /// Sampled tokens, the stop token and those of a stop string included.
  int64_t tokens() const { return tokens_; }

 private:
  void add_text(std::string_view bytes);
  void add_log_prob(const AnswerToken& sampled, std::string_view bytes);
  void end(std::string reason);
  void add_calls();

  const policy::Tokenizer& tokenizer_;
  const ApiRequest& request_;
  const ToolSyntax syntax_;
  MarkerFilter stops_;
  MarkerFilter calls_;  // holds the text back from the first call on
  std::string whole_;   // of a request with tools: all text, to be parsed at the end
  ChoiceDelta delta_;
  size_t offset_ = 0;
  int64_t tokens_ = 0;
  bool ended_ = false;
};

}  // namespace warpsmith::commands
