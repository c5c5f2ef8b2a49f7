// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/service_processes.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

#include "runtime/clock.hpp"
#include "runtime/process/unique_fd.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/owned_folder.hpp"
#include "sandbox/jail/jail_limits.hpp"

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
  return parse_process(text_of(fmt::format("/proc/{}/stat", pid)));
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

constexpr std::chrono::milliseconds between_polls{5};

bool runs(const ProcessSeen& process, SlotProcess wanted) {
  const auto& argv = process.argv;
  if (argv.empty()) return false;
  const std::string mode = argv[0] == "/runner" && argv.size() > 1 ? argv[1] : "";
  switch (wanted) {
    case SlotProcess::candidate:
      return mode == "runner" || mode == "launcher";
    case SlotProcess::compiler:
      return mode == "nvrtc" || argv[0] == "/bin/sh";
    case SlotProcess::reference_worker:
      return argv[0].find("python") != std::string::npos;
    case SlotProcess::service:
      break;
  }
  return false;
}

/// Kills the process unless another one has taken over its number.
bool kill_same(const ProcessSeen& process) {
  const UniqueFd pidfd{static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0))};
  if (!pidfd) return false;
  const auto now = processes_below(process.parent);
  const bool same = std::ranges::any_of(now, [&](const ProcessSeen& one) {
    return one.pid == process.pid && one.started == process.started;
  });
  return same && ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0) == 0;
}

constexpr std::chrono::milliseconds poll_interval{50};

bool is_temporary(const std::string& name) {
  return name.starts_with(owned_folder_prefix);
}

std::set<std::string> groups_without_owner() {
  const auto groups = sandbox::stale_cgroups();
  return {groups.begin(), groups.end()};
}

std::vector<std::string> beyond(const std::set<std::string>& now,
                                const std::set<std::string>& before) {
  std::vector<std::string> more;
  std::ranges::set_difference(now, before, std::back_inserter(more));
  return more;
}

bool nothing_left(const Leftovers& leftovers) {
  return leftovers.zombies.empty() && leftovers.processes.empty() && leftovers.groups.empty() &&
         leftovers.files.empty();
}

}  // namespace

std::optional<ProcessSeen> parse_process(std::string_view stat) {
  // The name may contain anything, parentheses included.
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
    one.argv = words_of(text_of(fmt::format("/proc/{}/cmdline", one.pid)));
  }
  return found;
}

void ProcessCensus::add_descendants(pid_t root) {
  const auto found = below(root, all_processes());
  const std::lock_guard lock(mutex_);
  for (const ProcessSeen& one : found) started_[one.pid] = one.started;
}

std::vector<ProcessSeen> ProcessCensus::remaining() const {
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

std::optional<pid_t> find_process(const std::vector<ProcessSeen>& below, SlotProcess wanted,
                                  pid_t service) {
  if (wanted == SlotProcess::service) return service;
  const auto monitored = [&](const ProcessSeen& process) {
    return std::ranges::any_of(below, [&](const ProcessSeen& monitor) {
      return monitor.pid == process.parent && monitor.parent == service;
    });
  };
  for (const ProcessSeen& process : below) {
    const bool lives = process.state != 'Z' && process.state != 'X';
    if (lives && runs(process, wanted) && monitored(process)) return process.pid;
  }
  return std::nullopt;
}

ProcessKiller::ProcessKiller(pid_t service, SlotProcess target, std::chrono::microseconds delay,
                             ProcessCensus& census)
    : service_(service), target_(target), census_(census), thread_([this, delay] { run(delay); }) {}

bool ProcessKiller::finish() {
  over_ = true;
  if (thread_.joinable()) thread_.join();
  return killed_;
}

void ProcessKiller::run(std::chrono::microseconds delay) {
  const Deadline begin = Deadline::after(delay);
  while (!over_ && !killed_) {
    if (begin.passed() && kill_if_present()) killed_ = true;
    std::this_thread::sleep_for(between_polls);
  }
}

bool ProcessKiller::kill_if_present() {
  census_.add_descendants(::getpid());
  auto all = processes_below(::getpid());
  const auto below_service = below(service_, all);
  const auto pid = find_process(below_service, target_, service_);
  const auto target =
      std::ranges::find_if(all, [&](const ProcessSeen& one) { return pid && one.pid == *pid; });
  return target != all.end() && !over_ && kill_same(*target);
}

LeftoverCheck::LeftoverCheck(fs::path cache, fs::path temporary)
    : cache_(std::move(cache)),
      temporary_(std::move(temporary)),
      files_before_(files()),
      groups_before_(groups_without_owner()) {}

std::set<std::string> LeftoverCheck::files() const {
  std::set<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(cache_, error), end; !error && at != end;
       at.increment(error)) {
    if (is_temporary(at->path().filename().string())) found.insert(at->path().string());
  }
  error.clear();
  for (fs::directory_iterator at(temporary_, error), end; !error && at != end;
       at.increment(error)) {
    found.insert(at->path().string());
  }
  return found;
}

Leftovers LeftoverCheck::now(const ProcessCensus& census) const {
  Leftovers leftovers;
  for (const ProcessSeen& one : census.remaining()) {
    const std::string text = fmt::format("{} {} ({})", one.pid, one.name, one.state);
    (one.state == 'Z' ? leftovers.zombies : leftovers.processes).push_back(text);
  }
  leftovers.groups = beyond(groups_without_owner(), groups_before_);
  leftovers.files = beyond(files(), files_before_);
  return leftovers;
}

Leftovers LeftoverCheck::find(const ProcessCensus& census, Deadline deadline) const {
  while (true) {
    Leftovers leftovers = now(census);
    if (nothing_left(leftovers) || deadline.passed()) return leftovers;
    std::this_thread::sleep_for(poll_interval);
  }
}

}  // namespace warpsmith::commands
