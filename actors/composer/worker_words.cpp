// SPDX-License-Identifier: Apache-2.0
#include "actors/composer/worker_words.hpp"

#include <nlohmann/json.hpp>

#include "runtime/json_text.hpp"

namespace warpsmith::actors {
namespace {

using Json = nlohmann::json;

Json object_in(const std::string& message) {
  Json json = Json::parse(message, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : Json::object();
}

}  // namespace

std::string number_message(uint64_t index) {
  return json_text(Json{{"index", index}});
}

std::string answer_message(const std::string& text) {
  return json_text(Json{{"answer", text}});
}

std::string failure_message(const std::string& why) {
  return json_text(Json{{"failed", why}});
}

std::optional<std::string> prompt_in(const std::string& message) {
  const Json object = object_in(message);
  const auto prompt = object.find("ask");
  if (prompt == object.end() || !prompt->is_string()) return std::nullopt;
  return prompt->get<std::string>();
}

}  // namespace warpsmith::actors
