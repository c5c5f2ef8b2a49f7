// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/choice_text.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "policy/text/tool_arguments.hpp"
#include "policy/text/tool_call_grammar.hpp"
#include "policy/text/unicode.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::commands {
namespace {

using Json = nlohmann::ordered_json;

/// Bytes at the end of `text` that the rest of a marker may follow.
size_t begun_marker(std::string_view text, const std::string& marker) {
  for (size_t size = std::min(text.size(), marker.size() - 1); size > 0; --size) {
    if (text.ends_with(std::string_view(marker).substr(0, size))) return size;
  }
  return 0;
}

/// Bytes at the end of `text` that are the beginning of a character.
size_t begun_character(std::string_view text) {
  constexpr size_t longest = 4;
  for (size_t size = 1; size < longest && size <= text.size(); ++size) {
    const std::string_view tail = text.substr(text.size() - size);
    if ((static_cast<unsigned char>(tail.front()) & 0xC0U) == 0x80U) continue;
    const policy::Utf8Step step = policy::next_utf8(tail);
    return step.state == policy::Utf8State::incomplete ? size : 0;
  }
  return 0;
}

std::vector<std::string> call_marker(const ApiRequest& request) {
  return request.tools.empty() ? std::vector<std::string>{}
                               : std::vector<std::string>{"<tool_call>"};
}

/// The schema of a tool's arguments; null if there is none.
Json parameters_of(const ApiRequest& request, const std::string& tool) {
  const auto found = std::ranges::find(request.tools, tool, &ApiTool::name);
  return found == request.tools.end() ? Json() : Json::parse(found->parameters);
}

double finite(float log_prob) {
  return std::isfinite(log_prob) ? std::max<double>(log_prob, lowest_log_prob) : lowest_log_prob;
}

}  // namespace

std::string MarkerFilter::add(std::string_view bytes) {
  held_ += bytes;
  if (found_) return {};
  size_t ready = held_.size() - begun_character(held_);
  for (const std::string& marker : markers_) {
    if (const size_t at = held_.find(marker); at != std::string::npos) {
      ready = found_ ? std::min(ready, at) : at;
      found_ = true;
    } else if (!found_) {
      ready = std::min(ready, held_.size() - begun_marker(held_, marker));
    }
  }
  std::string text = policy::to_valid_utf8(std::string_view(held_).substr(0, ready));
  held_.erase(0, ready);
  return text;
}

std::string MarkerFilter::flush() {
  return policy::to_valid_utf8(std::exchange(held_, {}));
}

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
  // The token that ends a turn is not text, whether it is special or not.
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
  for (size_t i = 0; i < turn->calls.size(); ++i) {
    const ParsedCall& call = turn->calls[i];
    const Json parameters = parameters_of(request_, call.name);
    delta_.calls.push_back(
        {call.name, json_text(policy::typed_arguments(call, turn->written[i], parameters))});
  }
  delta_.finish = "tool_calls";
  (void)calls_.flush();
}

ChoiceDelta ChoiceText::take() {
  return std::exchange(delta_, {});
}

}  // namespace warpsmith::commands
