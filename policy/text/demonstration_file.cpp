// SPDX-License-Identifier: Apache-2.0
#include "policy/text/demonstration_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

namespace warpsmith::policy {
namespace {

bool is_known_role(const std::string& role) {
  static const std::array<std::string, 4> roles{"system", "user", "assistant", "tool"};
  return std::ranges::find(roles, role) != roles.end();
}

Result<ChatMessage> message_of(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("role") || !json.contains("content") ||
      !json["role"].is_string() || !json["content"].is_string()) {
    return fail(ErrorCode::parse_failed, "a message needs texts \"role\" and \"content\"");
  }
  ChatMessage message{json["role"], json["content"], false};
  if (!is_known_role(message.role)) {
    return fail(ErrorCode::parse_failed, "unknown role \"" + message.role + "\"");
  }
  if (const auto train = json.find("train"); train != json.end()) {
    if (!train->is_boolean())
      return fail(ErrorCode::parse_failed, "\"train\": expected true or false");
    message.train = *train;
  }
  return message;
}

}  // namespace

Result<Demonstration> parse_demonstration(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return fail(ErrorCode::parse_failed, "expected a JSON object");
  const auto messages = json.find("messages");
  if (messages == json.end() || !messages->is_array() || messages->empty()) {
    return fail(ErrorCode::parse_failed, "expected a list \"messages\" with at least one");
  }
  Demonstration demonstration;
  if (const auto id = json.find("task_id"); id != json.end() && id->is_string()) {
    demonstration.task_id = *id;
  }
  for (const auto& item : *messages) {
    TRY(auto message, message_of(item));
    demonstration.messages.push_back(std::move(message));
  }
  return demonstration;
}

Result<std::vector<Demonstration>> read_demonstrations(const std::filesystem::path& file) {
  std::ifstream in{file};
  if (!in) return fail(ErrorCode::not_found, file.string() + ": no such demonstration file");
  std::vector<Demonstration> all;
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    auto one = parse_demonstration(line);
    if (!one) return fail(fmt::format("{}:{}", file.string(), number), one.error());
    all.push_back(std::move(*one));
  }
  return all;
}

}  // namespace warpsmith::policy
