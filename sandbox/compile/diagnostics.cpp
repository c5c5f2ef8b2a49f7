// SPDX-License-Identifier: Apache-2.0
#include "sandbox/compile/diagnostics.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

namespace warpsmith::sandbox {
namespace {

constexpr size_t longest_line = 300;

bool contains(const std::string& line, const char* part) {
  return line.find(part) != std::string::npos;
}

/// Takes "/usr/bin/ld: /tmp/ccAbCdEf.o: " and the like off the front, and offsets in sections.
std::string without_paths(std::string line) {
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
  return line.substr(0, longest_line);
}

bool tells(const std::string& line) {
  return contains(line, "error: ") || contains(line, "undefined reference") ||
         contains(line, "multiple definition");
}

}  // namespace

std::string summarise_errors(const std::string& compiler_text, size_t max_lines) {
  std::vector<std::string> kept;
  std::stringstream lines(compiler_text);
  for (std::string line; std::getline(lines, line);) {
    if (!tells(line) || contains(line, "ld returned 1 exit status")) continue;
    line = without_paths(line);
    if (std::find(kept.begin(), kept.end(), line) == kept.end()) kept.push_back(line);
    if (kept.size() == max_lines) break;
  }
  if (kept.empty()) kept.push_back(without_paths(compiler_text.substr(0, longest_line)));
  std::string text;
  for (const std::string& line : kept) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace warpsmith::sandbox
