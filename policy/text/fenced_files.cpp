// SPDX-License-Identifier: Apache-2.0
#include "policy/text/fenced_files.hpp"

#include <algorithm>
#include <optional>

namespace warpsmith::policy {
namespace {

constexpr std::string_view end_of_thought = "</think>";
constexpr std::string_view solution_folder = "solution/";
constexpr size_t shortest_fence = 3;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

/// Removes the first line from `text` and returns it.
std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The number of backticks that a line begins with.
size_t fence_length(std::string_view line) {
  return std::min(line.find_first_not_of('`'), line.size());
}

std::string_view path_in(std::string_view opening) {
  const std::string_view info = trimmed(opening.substr(fence_length(opening)));
  const size_t space = info.find_last_of(" \t");
  const std::string_view word = space == std::string_view::npos ? info : info.substr(space + 1);
  return word.find_first_of("./") == std::string_view::npos ? std::string_view{} : word;
}

/// The content up to the closing fence, which is also removed from `text`; nullopt if it is
/// missing.
std::optional<std::string> content_until(size_t fence, std::string_view& text) {
  std::string content;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const std::string_view bare = trimmed(line);
    if (bare.size() >= fence && fence_length(bare) == bare.size()) {
      if (!content.empty()) content.pop_back();
      return content;
    }
    content.append(line).append("\n");
  }
  return std::nullopt;
}

}  // namespace

std::vector<FencedFile> fenced_files(std::string_view answer) {
  if (const size_t thought = answer.rfind(end_of_thought); thought != std::string_view::npos) {
    answer.remove_prefix(thought + end_of_thought.size());
  }
  std::vector<FencedFile> files;
  while (!answer.empty() && files.size() < max_fenced_files) {
    const std::string_view line = next_line(answer);
    const size_t fence = fence_length(line);
    if (fence < shortest_fence) continue;
    auto content = content_until(fence, answer);
    if (!content) break;
    const std::string_view path = path_in(line);
    if (!path.empty()) files.push_back({std::string{path}, std::move(*content)});
  }
  return files;
}

std::vector<ParsedCall> calls_of_files(const std::vector<FencedFile>& files) {
  std::vector<ParsedCall> calls;
  for (const FencedFile& file : files) {
    const bool below = file.path.starts_with(solution_folder);
    const std::string path = (below ? "" : std::string{solution_folder}) + file.path;
    calls.push_back({"write", {{"path", path}, {"content", file.content}}});
  }
  if (!calls.empty()) calls.push_back({"submit", {}});
  return calls;
}

}  // namespace warpsmith::policy
