// SPDX-License-Identifier: Apache-2.0
// One answer as it grows: sampled tokens become text, tool calls, log-probabilities, an end. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/serve/api_request.hpp"
#include "commands/serve/text_gate.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/finish_reason.hpp"

namespace warpsmith::commands {

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
/// What stands for minus infinity, which JSON cannot express.
inline constexpr double lowest_log_prob = -9999.0;

/// What to add to an answer.
struct ChoiceDelta {
  std::string text;
  std::vector<ParsedCall> calls;  // come all at once, with the end
  std::vector<TokenLogProb> log_probs;
  std::optional<std::string> finish;  // "stop", "length", "tool_calls": nothing follows

  bool empty() const { return text.empty() && calls.empty() && log_probs.empty() && !finish; }
};

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
  TextGate stops_;
  TextGate calls_;     // holds the text back from the first call on
  std::string whole_;  // of a request with tools: all text, to be parsed at the end
  ChoiceDelta delta_;
  size_t offset_ = 0;
  int64_t tokens_ = 0;
  bool ended_ = false;
};

}  // namespace warpsmith::commands
