// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/process_tree.hpp"

#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>

#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_bytes = 1U << 16U;

std::string text_of(const fs::path& path) {
  return read_text_file(path, most_bytes).value_or("");
}

std::vector<std::string> words_of(const std::string& command_line) {
  std::vector<std::string> words;
  std::stringstream text(command_line);
  for (std::string word; std::getline(text, word, '\0');) words.push_back(word);
  return words;
}

/// nullopt if the process is gone.
std::optional<ProcessSeen> process(pid_t pid) {
  return parse_process(text_of("/proc/" + std::to_string(pid) + "/stat"));
}

std::vector<ProcessSeen> all_processes() {
  std::vector<ProcessSeen> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong != std::errc{} || end != name.data() + name.size()) continue;
    if (auto seen = process(pid)) all.push_back(std::move(*seen));
  }
  return all;
}

}  // namespace

std::optional<ProcessSeen> parse_process(std::string_view stat) {
  // The name may hold anything, parentheses included.
  const size_t open = stat.find('('), close = stat.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  ProcessSeen seen;
  seen.name = std::string(stat.substr(open + 1, close - open - 1));
  std::stringstream before{std::string(stat.substr(0, open))};
  std::stringstream after{std::string(stat.substr(close + 1))};
  before >> seen.pid;
  after >> seen.state >> seen.parent;
  constexpr int skipped = 17;  // fields 5 to 21; the start is field 22
  std::string field;
  for (int i = 0; i < skipped; ++i) after >> field;
  after >> seen.started;
  if (!before || !after) return std::nullopt;
  return seen;
}

std::vector<ProcessSeen> below(pid_t root, const std::vector<ProcessSeen>& all) {
  std::set<pid_t> family{root};
  std::vector<ProcessSeen> found;
  // A child may have a smaller number than its parent, so repeat until nothing is added.
  for (size_t before = 0; before != family.size();) {
    before = family.size();
    for (const ProcessSeen& one : all) {
      if (!family.contains(one.parent) || !family.insert(one.pid).second) continue;
      found.push_back(one);
    }
  }
  return found;
}

std::vector<ProcessSeen> processes_below(pid_t root) {
  auto found = below(root, all_processes());
  for (ProcessSeen& one : found) {
    one.argv = words_of(text_of("/proc/" + std::to_string(one.pid) + "/cmdline"));
  }
  return found;
}

void ProcessCensus::look(pid_t root) {
  const auto found = below(root, all_processes());
  const std::lock_guard lock(mutex_);
  for (const ProcessSeen& one : found) started_[one.pid] = one.started;
}

std::vector<ProcessSeen> ProcessCensus::left() const {
  const std::lock_guard lock(mutex_);
  std::vector<ProcessSeen> still;
  for (const auto& [pid, started] : started_) {
    auto now = process(pid);
    if (now && now->started == started) still.push_back(std::move(*now));
  }
  return still;
}

size_t ProcessCensus::seen() const {
  const std::lock_guard lock(mutex_);
  return started_.size();
}

}  // namespace warpsmith::commands
