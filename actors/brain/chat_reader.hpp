// SPDX-License-Identifier: Apache-2.0
// Pure: converts a trajectory's tokens back to the messages that they were made from.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/text/chat_format.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

/// Reads control tokens, not their texts: text from a task or a tool never counts as the end of a
/// message.
class ChatReader {
 public:
  /// `unsupported` if the frame ends its messages by ordinary text, which a task could write too.
  static Result<ChatReader> make(std::shared_ptr<const policy::Tokenizer> tokenizer,
                                 const policy::ChatFrame& frame,
                                 std::span<const int32_t> stop_tokens);

  /// The messages of a prefix that ends where the next turn begins: system (if any), user, then
  /// turns and results ("assistant", "tool"). `parse_failed` names what was expected.
  Result<std::vector<policy::ChatMessage>> read(std::span<const int32_t> tokens) const;

 private:
  ChatReader() = default;
  std::string marked(std::span<const int32_t> tokens) const;
  std::string marked(const std::string& text) const;

  std::shared_ptr<const policy::Tokenizer> tokenizer_;
  std::set<int32_t> control_;
  policy::ChatFrame frame_;        // its texts marked
  std::vector<std::string> ends_;  // of a turn, marked
};

}  // namespace warpsmith::actors
