// SPDX-License-Identifier: Apache-2.0
#include "runtime/http/http_token.hpp"

#include <algorithm>

namespace warpsmith {
namespace {

std::string_view without_blanks(std::string_view text) {
  const size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  const size_t last = text.find_last_not_of(" \t");
  return last == std::string_view::npos ? std::string_view{} : text.substr(first, last + 1 - first);
}

}  // namespace

std::string http_token(std::string_view text) {
  std::string lower{without_blanks(text)};
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

std::string media_type(std::string_view content_type) {
  return http_token(content_type.substr(0, content_type.find(';')));
}

bool has_http_token(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    if (http_token(list.substr(0, end)) == token) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace warpsmith
