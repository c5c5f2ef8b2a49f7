// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/diagnostics.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

#include "sandbox/compile/utf8.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr size_t longest_line = 300;

/// At most `longest` bytes, whole characters; a byte that is none becomes '?'. The compiler quotes
/// the source, which may hold anything, and JSON takes no such text.
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

/// What an assembler says has the lines of its own input.
std::string with_asm_named(const std::string& line) {
  const bool its_own =
      line.starts_with("{standard input}") || line.starts_with("ptxas application ptx input");
  return its_own ? "within the kernel's asm: " + line : line;
}

/// Takes "/usr/bin/ld: /tmp/ccAbCdEf.o: " and the like off the front, and offsets in sections.
std::string without_paths(const std::string& told) {
  std::string line = told;
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

bool tells(const std::string& line) {
  const bool told = contains(line, "error: ") || contains(line, ": Error: ") ||
                    contains(line, "undefined reference") || contains(line, "multiple definition");
  return told && !contains(line, "ld returned 1 exit status");
}

/// "k.cu(3): error: …", "k.cu(3): catastrophic error: …", "ptxas error   : …".
bool tells_of_cuda(const std::string& line) {
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

bool tells_of_host(const std::string& line) {
  return tells(line) || tells_of_cuda(line);
}

std::string rewritten_of_host(const std::string& line) {
  return contains(line, ".cu(") || contains(line, ".cuh(") ? with_colons(line)
                                                           : without_paths(line);
}

/// How one family of compilers writes.
struct Dialect {
  bool (*tells)(const std::string& line);
  std::string (*rewritten)(const std::string& line);
};

/// The first distinct lines that tell, or the beginning of it all if none does.
std::string summary(const std::string& compiler_text, const Dialect& dialect, size_t max_lines) {
  std::vector<std::string> kept;
  std::stringstream lines(compiler_text);
  for (std::string line; std::getline(lines, line);) {
    if (!dialect.tells(line)) continue;
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
  return summary(compiler_text, {tells, without_paths}, max_lines);
}

std::string summarise_host_errors(const std::string& compiler_text, size_t max_lines) {
  std::string trimmed = compiler_text;
  while (!trimmed.empty() && trimmed.back() == '\n') trimmed.pop_back();
  std::stringstream lines(trimmed);
  bool told = false;
  for (std::string line; std::getline(lines, line);) told = told || tells_of_host(line);
  if (!told) trimmed.erase(0, trimmed.find_last_of('\n') + 1);
  return summary(trimmed, {tells_of_host, rewritten_of_host}, max_lines);
}

std::string summarise_cuda_errors(const std::string& compiler_text, size_t max_lines) {
  return summary(compiler_text, {tells_of_cuda, with_colons}, max_lines);
}

}  // namespace warpsmith::sandbox
