// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/remains.hpp"

#include <algorithm>
#include <thread>

#include "runtime/run/owned_folder.hpp"
#include "sandbox/jail/cgroup.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

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

bool nothing_left(const Remains& remains) {
  return remains.zombies.empty() && remains.processes.empty() && remains.groups.empty() &&
         remains.files.empty();
}

}  // namespace

RemainsWatch::RemainsWatch(fs::path cache, fs::path temporary)
    : cache_(std::move(cache)),
      temporary_(std::move(temporary)),
      files_before_(files()),
      groups_before_(groups_without_owner()) {}

std::set<std::string> RemainsWatch::files() const {
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

Remains RemainsWatch::now(const ProcessCensus& census) const {
  Remains remains;
  for (const ProcessSeen& one : census.left()) {
    const std::string text = std::to_string(one.pid) + " " + one.name + " (" + one.state + ")";
    (one.state == 'Z' ? remains.zombies : remains.processes).push_back(text);
  }
  remains.groups = beyond(groups_without_owner(), groups_before_);
  remains.files = beyond(files(), files_before_);
  return remains;
}

Remains RemainsWatch::look(const ProcessCensus& census, Deadline deadline) const {
  while (true) {
    Remains remains = now(census);
    if (nothing_left(remains) || deadline.passed()) return remains;
    std::this_thread::sleep_for(poll_interval);
  }
}

}  // namespace warpsmith::commands
