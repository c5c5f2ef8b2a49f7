// SPDX-License-Identifier: Apache-2.0
#include "actors/base/secret_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace warpsmith::actors {
namespace {

constexpr size_t shortest_key = 8;

/// Characters that need no escaping in a header or in JSON.
bool is_plain_key(std::string_view key) {
  return std::ranges::all_of(key,
                             [](char c) { return c > ' ' && c < 127 && c != '"' && c != '\\'; });
}

}  // namespace

Result<std::string> secret_key(const std::string& setting, const std::string& variable) {
  if (variable.empty()) return std::string{};
  const char* key = std::getenv(variable.c_str());
  if (key == nullptr || *key == '\0') {
    return fail(ErrorCode::invalid_config, setting + ": the environment variable " + variable +
                                               " is not set; export it with the endpoint's key");
  }
  if (std::string_view{key}.size() < shortest_key) {
    return fail(
        ErrorCode::invalid_config,
        fmt::format("{}: the key in {} has less than {} characters: too few to find it again in "
                    "answers, so it would be stored with the run; give the endpoint a longer key, "
                    "or set {} to \"\" for an endpoint that needs none",
                    setting, variable, shortest_key, setting));
  }
  if (is_plain_key(key)) return std::string{key};
  return fail(ErrorCode::invalid_config, setting + ": the key in " + variable +
                                             " has a blank, a quote or a control character; "
                                             "export only the key");
}

std::string without_secret(std::string text, const std::string& secret) {
  constexpr std::string_view in_place = "[key]";
  if (secret.empty()) return text;
  for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
    text.replace(at, secret.size(), in_place);
    at += in_place.size();
  }
  return text;
}

}  // namespace warpsmith::actors
