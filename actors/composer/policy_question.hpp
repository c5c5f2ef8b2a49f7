// SPDX-License-Identifier: Apache-2.0
// One question to the run's own generator: a prompt becomes a request for tokens, and the tokens
// become a text. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/protocol/messages.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

/// The policy's text format and its token limits.
struct PolicyText {
  std::function<std::vector<int32_t>(const std::string&)> encode;  // a user's message, framed
  std::function<std::string(std::span<const int32_t>)> decode;
  std::vector<int32_t> stop_tokens;  // that end an answer
  int64_t max_tokens = 0;            // of prompt and answer
  int64_t max_answer = 0;            // tokens
};

/// The generator's session for the candidate `index`; no trajectory has this number.
TrajectoryId composing_session(uint64_t index);

class PolicyQuestion {
 public:
  /// `number`: of the request, to distinguish it from tokens of an earlier one. `capacity` if the
  /// prompt leaves no room for an answer.
  static Result<PolicyQuestion> make(const PolicyText& text, uint64_t index, uint32_t number,
                                     const std::string& prompt);

  const GenerateCall& call() const { return call_; }
  /// The answer, once its last tokens are here. Ignores tokens of another request.
  std::optional<std::string> take(const PolicyText& text, const TokenChunk& chunk);

 private:
  GenerateCall call_;
  std::vector<int32_t> tokens_;  // of the answer; at most call_.credit
};

}  // namespace warpsmith::actors
