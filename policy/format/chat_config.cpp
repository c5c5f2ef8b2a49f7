// SPDX-License-Identifier: Apache-2.0
#include "policy/format/chat_config.hpp"

#include <nlohmann/json.hpp>

#include "policy/format/mapped_file.hpp"
#include "policy/text/json_depth.hpp"

namespace warpsmith::policy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t max_file_bytes = size_t{16} << 20U;

/// A token is spelled as a text, or as an object with its content.
std::string token_text(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return {};
  if (it->is_string()) return it->get<std::string>();
  if (!it->is_object() || !it->contains("content") || !(*it)["content"].is_string()) return {};
  return (*it)["content"].get<std::string>();
}

/// One template, or the one named "default" of several.
std::string template_text(const json& object) {
  const auto it = object.find("chat_template");
  if (it == object.end()) return {};
  if (it->is_string()) return it->get<std::string>();
  if (!it->is_array()) return {};
  for (const json& item : *it) {
    if (item.is_object() && token_text(item, "name") == "default") {
      return token_text(item, "template");
    }
  }
  return {};
}

Result<json> read_object(const fs::path& path) {
  const auto text = read_text_file(path, max_file_bytes);
  if (!text) return tl::unexpected(text.error());
  JsonDepth depth;
  json object = json::parse(*text, depth.watch(), /*allow_exceptions=*/false);
  if (depth.exceeded()) {
    return fail(ErrorCode::parse_failed, path.string() + ": JSON is nested too deeply");
  }
  if (object.is_object()) return object;
  return fail(ErrorCode::parse_failed, path.string() + ": expected a JSON object");
}

}  // namespace

Result<ChatTemplate> read_chat_template(const fs::path& folder) {
  const auto config = read_object(folder / "tokenizer_config.json");
  if (!config) return tl::unexpected(config.error());
  std::string jinja = template_text(*config);
  const fs::path file = folder / "chat_template.jinja";
  if (fs::exists(file)) {
    auto text = read_text_file(file, max_file_bytes);
    if (!text) return tl::unexpected(text.error());
    jinja = std::move(*text);
  }
  if (jinja.empty()) {
    return fail(ErrorCode::not_found, folder.string() +
                                          ": no chat template, neither in "
                                          "tokenizer_config.json nor in "
                                          "chat_template.jinja");
  }
  auto chat = recognize_chat_template(jinja, token_text(*config, "bos_token"));
  if (!chat) return fail(folder.string(), chat.error());
  return chat;
}

}  // namespace warpsmith::policy
