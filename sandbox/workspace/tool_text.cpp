// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/tool_text.hpp"

#include <fmt/format.h>

namespace warpsmith::sandbox {
namespace {

bool is_inside_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// The largest cut ≤ `at` at a character's start; at a line's end if one lies in the last quarter.
size_t head_end(std::string_view text, size_t at) {
  while (at > 0 && is_inside_character(text[at])) --at;
  const size_t line = text.substr(0, at).rfind('\n');
  return line != std::string_view::npos && line >= at - at / 4 ? line : at;
}

size_t tail_start(std::string_view text, size_t at) {
  while (at < text.size() && is_inside_character(text[at])) ++at;
  const size_t line = text.find('\n', at);
  return line != std::string_view::npos && line - at <= (text.size() - at) / 4 ? line + 1 : at;
}

void add_line(std::string& text, const std::string& more) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += more;
}

}  // namespace

std::string truncate_result(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  const size_t head = head_end(text, max_bytes - max_bytes / 2);
  const size_t tail = tail_start(text, text.size() - max_bytes / 2);
  std::string out{text.substr(0, head)};
  if (!out.empty() && out.back() != '\n') out += '\n';
  out += fmt::format("[… {} bytes left out …]\n", tail - head);
  return out.append(text.substr(tail));
}

std::string output_text(const ShellResult& result) {
  std::string text = result.out;
  if (!result.err.empty()) add_line(text, result.err);
  if (result.output_cut) add_line(text, "[output cut]");
  return text;
}

std::string shell_text(const ShellResult& result) {
  std::string text = output_text(result);
  if (result.timed_out) {
    add_line(text, "[timed out]");
  } else if (result.out_of_memory) {
    add_line(text, "[out of memory]");
  } else if (result.signal != 0) {
    add_line(text, fmt::format("[ended by signal {}]", result.signal));
  } else if (result.exit_code != 0) {
    add_line(text, fmt::format("[exit code {}]", result.exit_code));
  }
  return text.empty() ? "(no output)" : text;
}

std::string verdict_text(Request request, const Verdict& verdict) {
  if (request == Request::compile && verdict.correct()) return "compiled";
  if (!verdict.feedback.empty()) return verdict.feedback;
  return std::string(to_string(verdict.outcome));
}

}  // namespace warpsmith::sandbox
