// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/file_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace warpsmith::sandbox {
namespace {

using Json = nlohmann::json;

size_t occurrences(std::string_view text, std::string_view piece) {
  size_t count = 0;
  for (size_t at = text.find(piece); at != std::string_view::npos;
       at = text.find(piece, at + piece.size())) {
    ++count;
  }
  return count;
}

std::string replaced(std::string_view text, const TextEdit& edit) {
  std::string out;
  size_t from = 0;
  for (size_t at = text.find(edit.old_string); at != std::string_view::npos;
       at = text.find(edit.old_string, from)) {
    out.append(text.substr(from, at - from)).append(edit.new_string);
    from = at + edit.old_string.size();
  }
  return out.append(text.substr(from));
}

tl::unexpected<Error> refuse(const std::string& why) {
  return fail(ErrorCode::invalid_argument, why);
}

/// How often `edit` applies to `text`, or why it must not.
Result<size_t> check(std::string_view text, const TextEdit& edit, size_t max_bytes) {
  if (edit.old_string.empty()) return refuse("old_string is empty");
  if (edit.old_string == edit.new_string) return refuse("old_string and new_string are the same");
  const size_t count = occurrences(text, edit.old_string);
  if (count == 0) return refuse("old_string was not found");
  if (count > 1 && !edit.replace_all) {
    return refuse(
        fmt::format("old_string occurs {} times; give more context or set replace_all", count));
  }
  const size_t size = text.size() - count * edit.old_string.size() + count * edit.new_string.size();
  if (size > max_bytes) {
    return refuse(fmt::format("the file would have {} bytes, allowed are {}", size, max_bytes));
  }
  return count;
}

Result<TextEdit> edit_of(const Json& json) {
  const auto text = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string();
  };
  if (!text("old_string") || !text("new_string")) {
    return refuse("expected an object with the strings old_string and new_string");
  }
  const bool all = json.contains("replace_all") && json["replace_all"] == true;
  return TextEdit{json["old_string"].get<std::string>(), json["new_string"].get<std::string>(),
                  all};
}

/// Greedy matching that backtracks only to the last star: O(pattern × text).
template <class Sequence, class IsStar, class Fits>
bool matches(const Sequence& pattern, const Sequence& text, IsStar is_star, Fits fits) {
  size_t p = 0;
  size_t t = 0;
  size_t star = pattern.size();
  size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && is_star(pattern[p])) {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && fits(pattern[p], text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.size()) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && is_star(pattern[p])) ++p;
  return p == pattern.size();
}

bool name_matches(std::string_view pattern, std::string_view name) {
  return matches(
      pattern, name, [](char c) { return c == '*'; },
      [](char wanted, char c) { return wanted == '?' || wanted == c; });
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size() < path.size() ? part.size() + 1 : path.size());
    if (!part.empty() && part != ".") parts.push_back(part);
  }
  return parts;
}

}  // namespace

Result<EditedText> apply_edits(std::string text, std::span<const TextEdit> edits,
                               size_t max_bytes) {
  EditedText result{std::move(text), 0};
  for (size_t i = 0; i < edits.size(); ++i) {
    const auto count = check(result.text, edits[i], max_bytes);
    if (!count) {
      if (edits.size() == 1) return tl::unexpected(count.error());
      return fail(fmt::format("edit {}", i + 1), count.error());
    }
    result.text = replaced(result.text, edits[i]);
    result.replacements += *count;
  }
  return result;
}

Result<std::vector<TextEdit>> parse_edits(std::string_view json) {
  const Json list = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array() || list.empty() || list.size() > max_edits) {
    return refuse(fmt::format("edits must be a JSON array of 1 to {} edits", max_edits));
  }
  std::vector<TextEdit> edits;
  for (const Json& item : list) {
    auto edit = edit_of(item);
    if (!edit) return fail(fmt::format("edit {}", edits.size() + 1), edit.error());
    edits.push_back(std::move(*edit));
  }
  return edits;
}

size_t line_count(std::string_view text) {
  const auto newlines = static_cast<size_t>(std::ranges::count(text, '\n'));
  return newlines + (!text.empty() && text.back() != '\n' ? 1 : 0);
}

bool glob_matches(std::string_view pattern, std::string_view path) {
  std::vector<std::string_view> wanted = parts_of(pattern);
  if (pattern.find('/') == std::string_view::npos) wanted.insert(wanted.begin(), "**");
  return matches(
      wanted, parts_of(path), [](std::string_view part) { return part == "**"; }, name_matches);
}

}  // namespace warpsmith::sandbox
