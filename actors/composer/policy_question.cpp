// SPDX-License-Identifier: Apache-2.0
#include "actors/composer/policy_question.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpsmith::actors {
namespace {

constexpr TrajectoryId no_trajectory = TrajectoryId{1} << 63U;  // trajectories count from 1
constexpr size_t most_bytes = size_t{512} << 10U;               // of an answer; fits into a frame

}  // namespace

TrajectoryId composing_session(uint64_t index) {
  return no_trajectory | index;
}

Result<PolicyQuestion> PolicyQuestion::make(const PolicyText& text, uint64_t index, uint32_t number,
                                            const std::string& prompt) {
  PolicyQuestion question;
  GenerateCall& call = question.call_;
  call.session = composing_session(index);
  call.turn = number;
  call.whole = true;
  call.new_tokens = text.encode(prompt);
  const int64_t room = text.max_tokens - static_cast<int64_t>(call.new_tokens.size());
  if (room <= 0) {
    return fail(ErrorCode::capacity,
                fmt::format("the prompt of {} tokens leaves no room within agent.max_tokens = {}",
                            call.new_tokens.size(), text.max_tokens));
  }
  call.credit = static_cast<int32_t>(std::min(room, text.max_answer));
  return question;
}

std::optional<std::string> PolicyQuestion::take(const PolicyText& text, const TokenChunk& chunk) {
  if (chunk.session != call_.session || chunk.turn != call_.turn) return std::nullopt;
  const size_t room = static_cast<size_t>(call_.credit) - tokens_.size();
  const auto count = static_cast<std::ptrdiff_t>(std::min(room, chunk.tokens.size()));
  tokens_.insert(tokens_.end(), chunk.tokens.begin(), chunk.tokens.begin() + count);
  if (chunk.finish == FinishReason::none) return std::nullopt;
  std::span<const int32_t> answer = tokens_;
  const auto& stops = text.stop_tokens;
  const bool stopped = !answer.empty() && std::ranges::find(stops, answer.back()) != stops.end();
  std::string words = text.decode(stopped ? answer.first(answer.size() - 1) : answer);
  words.resize(std::min(words.size(), most_bytes));
  return words;
}

}  // namespace warpsmith::actors
