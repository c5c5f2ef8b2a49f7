// SPDX-License-Identifier: Apache-2.0
// Files of demonstrations, one JSON object per line: {"task_id", "messages": [{"role", "content",
// "train"}]}.
#pragma once

#include <filesystem>
#include <vector>

#include "policy/text/chat_format.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

struct Demonstration {
  std::string task_id;
  std::vector<ChatMessage> messages;
};

/// Reads all lines. `not_found` names the file, `parse_failed` file and line.
Result<std::vector<Demonstration>> read_demonstrations(const std::filesystem::path& file);

/// Parses one line; `parse_failed` says what is wrong.
Result<Demonstration> parse_demonstration(const std::string& line);

}  // namespace warpsmith::policy
