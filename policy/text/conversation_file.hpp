// SPDX-License-Identifier: Apache-2.0
// Demonstrations: one JSON object per line, {"task_id", "messages": [{"role", "content",
// "train"}]}.
#pragma once

#include <filesystem>
#include <vector>

#include "policy/text/chat_turns.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

struct Demonstration {
  std::string task_id;
  std::vector<ChatMessage> messages;
};

/// Reads all lines. `parse_failed` names file and line; `not_found` the file.
Result<std::vector<Demonstration>> read_demonstrations(const std::filesystem::path& file);

/// One line; the message of `parse_failed` says what is wrong with it.
Result<Demonstration> parse_demonstration(const std::string& line);

}  // namespace warpsmith::policy
