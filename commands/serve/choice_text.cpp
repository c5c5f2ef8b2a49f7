// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/choice_text.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "policy/text/tool_call_grammar.hpp"

namespace warpsmith::commands {
namespace {

std::vector<std::string> call_marker(const ApiRequest& request) {
  return request.tools.empty() ? std::vector<std::string>{}
                               : std::vector<std::string>{"<tool_call>"};
}

double finite(float log_prob) {
  return std::isfinite(log_prob) ? std::max<double>(log_prob, lowest_log_prob) : lowest_log_prob;
}

}  // namespace

ChoiceText::ChoiceText(const policy::Tokenizer& tokenizer, const ApiRequest& request,
                       ToolSyntax syntax)
    : tokenizer_(tokenizer),
      request_(request),
      syntax_(syntax),
      stops_(request.stop),
      calls_(call_marker(request)) {}

void ChoiceText::add(const AnswerToken& sampled) {
  if (ended_) return;
  ++tokens_;
  // The token that ends a turn is no text, whether it is special or not.
  if (sampled.finish == FinishReason::stop_token) return end("stop");
  const bool hidden = tokenizer_.is_special(sampled.token);
  const std::string_view bytes = hidden ? std::string_view{} : tokenizer_.bytes_of(sampled.token);
  if (request_.log_probs) add_log_prob(sampled, tokenizer_.bytes_of(sampled.token));
  offset_ += bytes.size();
  add_text(stops_.add(bytes));
  if (stops_.found()) return end("stop");
  if (sampled.finish != FinishReason::none) end("length");
}

void ChoiceText::add_log_prob(const AnswerToken& sampled, std::string_view bytes) {
  delta_.log_probs.push_back({std::string(bytes), finite(sampled.log_prob), offset_});
}

void ChoiceText::add_text(std::string_view text) {
  if (!request_.tools.empty()) whole_ += text;
  delta_.text += calls_.add(text);
}

void ChoiceText::end(std::string reason) {
  ended_ = true;
  if (!stops_.found()) add_text(stops_.flush());
  delta_.finish = std::move(reason);
  if (calls_.found()) add_calls();
  delta_.text += calls_.flush();
}

/// A turn that does not parse, as one cut at its limit, stays text.
void ChoiceText::add_calls() {
  auto turn = policy::parse_turn(whole_, syntax_);
  if (!turn || turn->calls.empty()) return;
  delta_.calls = std::move(turn->calls);
  delta_.finish = "tool_calls";
  (void)calls_.flush();
}

ChoiceDelta ChoiceText::take() {
  return std::exchange(delta_, {});
}

}  // namespace warpsmith::commands
