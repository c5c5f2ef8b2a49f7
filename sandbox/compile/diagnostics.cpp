// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/diagnostics.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

namespace warpsmith::sandbox {
namespace {

constexpr size_t longest_line = 300;

/// At most `longest` bytes of whole characters. A byte that is not UTF-8 becomes '?': compilers
/// quote the source, and JSON must be valid UTF-8.
std::string clean(std::string_view text, size_t longest) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = character_bytes(text, at);
    if (out.size() + std::max<size_t>(bytes, 1) > longest) break;
    if (bytes == 0) {
      out += '?';
    } else {
      out += text.substr(at, bytes);
    }
    at += std::max<size_t>(bytes, 1);
  }
  return out;
}

bool contains(const std::string& line, const char* part) {
  return line.find(part) != std::string::npos;
}

/// Marks errors of an assembler, whose line numbers are those of its own input.
std::string with_asm_named(const std::string& line) {
  const bool its_own =
      line.starts_with("{standard input}") || line.starts_with("ptxas application ptx input");
  return its_own ? "within the kernel's asm: " + line : line;
}

/// Removes prefixes such as "/usr/bin/ld: /tmp/ccAbCdEf.o: ", and offsets in sections.
std::string without_paths(const std::string& text) {
  std::string line = text;
  for (size_t at = line.find("/tmp/cc"); at != std::string::npos; at = line.find("/tmp/cc")) {
    const size_t end = std::min(line.find_first_of(": ", at), line.size());
    line.replace(at, end - at, "kernel.o");
  }
  const size_t section = line.find(":(.text");
  const size_t close = line.find("): ", section);
  if (section != std::string::npos && close != std::string::npos) {
    line.erase(section, close + 1 - section);
  }
  for (const std::string front : {"/usr/bin/ld: ", "kernel.o: ", "/src/"}) {
    if (line.starts_with(front)) line.erase(0, front.size());
  }
  return clean(with_asm_named(line), longest_line);
}

bool is_error(const std::string& line) {
  const bool error = contains(line, "error: ") || contains(line, ": Error: ") ||
                     contains(line, "undefined reference") || contains(line, "multiple definition");
  return error && !contains(line, "ld returned 1 exit status");
}

/// "k.cu(3): error: …", "k.cu(3): catastrophic error: …", "ptxas error   : …".
bool is_cuda_error(const std::string& line) {
  return contains(line, "error: ") || contains(line, "error   : ") || contains(line, "ptxas fatal");
}

/// "FILE(LINE): …" as "FILE:LINE: …".
std::string with_colons(const std::string& line) {
  const size_t open = line.find('('), close = line.find("): ");
  if (open == std::string::npos || close == std::string::npos || close < open) {
    return clean(with_asm_named(line), longest_line);
  }
  const std::string number = line.substr(open + 1, close - open - 1);
  return clean(line.substr(0, open) + ":" + number + line.substr(close + 1), longest_line);
}

bool is_host_error(const std::string& line) {
  return is_error(line) || is_cuda_error(line);
}

std::string rewritten_host_error(const std::string& line) {
  return contains(line, ".cu(") || contains(line, ".cuh(") ? with_colons(line)
                                                           : without_paths(line);
}

/// The form of one family of compilers' messages.
struct Dialect {
  bool (*is_error)(const std::string& line);
  std::string (*rewritten)(const std::string& line);
};

/// The first distinct lines with an error, or the beginning of the text if there is none.
std::string summary(const std::string& compiler_text, const Dialect& dialect, size_t max_lines) {
  std::vector<std::string> kept;
  std::stringstream lines(compiler_text);
  for (std::string line; std::getline(lines, line);) {
    if (!dialect.is_error(line)) continue;
    line = dialect.rewritten(line);
    if (std::find(kept.begin(), kept.end(), line) == kept.end()) kept.push_back(line);
    if (kept.size() == max_lines) break;
  }
  if (kept.empty()) kept.push_back(dialect.rewritten(compiler_text.substr(0, longest_line)));
  std::string text;
  for (const std::string& line : kept) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace

std::string summarise_errors(const std::string& compiler_text, size_t max_lines) {
  return summary(compiler_text, {is_error, without_paths}, max_lines);
}

std::string summarise_host_errors(const std::string& compiler_text, size_t max_lines) {
  std::string trimmed = compiler_text;
  while (!trimmed.empty() && trimmed.back() == '\n') trimmed.pop_back();
  std::stringstream lines(trimmed);
  bool found = false;
  for (std::string line; std::getline(lines, line);) found = found || is_host_error(line);
  if (!found) trimmed.erase(0, trimmed.find_last_of('\n') + 1);
  return summary(trimmed, {is_host_error, rewritten_host_error}, max_lines);
}

std::string summarise_cuda_errors(const std::string& compiler_text, size_t max_lines) {
  return summary(compiler_text, {is_cuda_error, with_colons}, max_lines);
}

}  // namespace warpsmith::sandbox
