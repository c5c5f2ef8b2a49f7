// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/leading_headers.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace warpsmith::sandbox {
namespace {

constexpr size_t most_headers = 16, longest_name = 64;

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

/// Removes spaces and comments from the front; false if a comment does not end.
bool skip_blank(std::string_view& text) {
  while (!text.empty()) {
    if (is_space(text.front())) {
      text.remove_prefix(1);
    } else if (text.starts_with("//")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*")) {
      const size_t end = text.find("*/", 2);
      if (end == std::string_view::npos) return false;
      text.remove_prefix(end + 2);
    } else {
      break;
    }
  }
  return true;
}

/// Whether a line may end with a backslash that joins it to the next. Some compilers allow spaces
/// after it, some know the trigraph "??/".
bool joins_lines(std::string_view text) {
  for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n', end + 1)) {
    const std::string_view line = text.substr(0, end);
    const std::string_view upto = line.substr(0, line.find_last_not_of(" \t\r\v\f") + 1);
    if (upto.ends_with('\\') || upto.ends_with("?\?/")) return true;
  }
  return false;
}

bool is_name(std::string_view name) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '/' || c == '.';
  };
  return !name.empty() && name.size() <= longest_name && name.front() != '/' &&
         name.find("..") == std::string_view::npos && std::ranges::all_of(name, plain);
}

/// Removes "#include <NAME>" with the rest of its line from the front and returns NAME; empty, with
/// nothing removed, if the text begins otherwise.
std::string_view take_include(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  std::string_view rest = line;
  const auto skip = [&rest](std::string_view word) {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
    const bool there = rest.starts_with(word);
    if (there) rest.remove_prefix(word.size());
    return there;
  };
  if (!skip("#") || !skip("include") || !skip("<")) return {};
  const size_t end = rest.find('>');
  const std::string_view name = rest.substr(0, end);
  if (end == std::string_view::npos || !is_name(name)) return {};
  std::string_view behind = rest.substr(end + 1);
  if (!skip_blank(behind) || !behind.empty()) return {};
  text.remove_prefix(line.size());
  return name;
}

}  // namespace

std::string leading_headers(const FileSet& files, const std::string& main) {
  const auto found = files.find(main);
  if (found == files.end() || files.size() != 1) return {};
  const std::string_view whole = found->second;
  std::string_view text = whole;
  std::string lines;
  size_t taken = 0;
  for (size_t count = 0; count < most_headers && skip_blank(text); ++count) {
    const std::string_view name = take_include(text);
    if (name.empty()) break;
    lines.append("#include <").append(name).append(">\n");
    taken = whole.size() - text.size();
  }
  return joins_lines(whole.substr(0, taken)) ? "" : lines;
}

}  // namespace warpsmith::sandbox
