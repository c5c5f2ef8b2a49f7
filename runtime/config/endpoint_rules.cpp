// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/endpoint_rules.hpp"

#include <algorithm>
#include <string_view>

namespace warpsmith {
namespace {

bool is_variable_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool digit_first = !name.empty() && name.front() >= '0' && name.front() <= '9';
  return !digit_first && name.size() <= 128 && std::ranges::all_of(name, allowed);
}

/// A key in the URL would be stored with the run.
bool is_plain_url(std::string_view url) {
  const bool http = url.starts_with("http://") || url.starts_with("https://");
  const bool printable = std::ranges::all_of(url, [](char c) { return c > ' ' && c < 127; });
  return http && printable && url.find_first_of("@?#") == std::string_view::npos;
}

void require_unseen(bool holds, const std::string& table, Complaints& complaints,
                    const std::string& message) {
  if (!holds) complaints.at({'[' + table + ']', 0}, table + message);
}

}  // namespace

void validate_url(const std::string& table, const std::string& url, Complaints& complaints) {
  require_unseen(is_plain_url(url), table, complaints,
                 ".url: expected http://… or https://… without user, query and fragment; a key "
                 "belongs into the variable that " +
                     table + ".key_env names");
}

void validate_key_env(const std::string& table, const std::string& name, Complaints& complaints) {
  require_unseen(is_variable_name(name), table, complaints,
                 ".key_env: expected the name of an environment variable (letters, digits, _) "
                 "that holds the key, not the key");
}

}  // namespace warpsmith
