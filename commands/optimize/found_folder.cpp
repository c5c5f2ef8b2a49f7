// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/found_folder.hpp"

#include <algorithm>
#include <cstdio>

#include "commands/optimize/optimize_settings.hpp"
#include "actors/rollout/outcome.hpp"

namespace warpsmith::commands {
using namespace actors;

namespace fs = std::filesystem;

std::string found_name(TrajectoryId id, uint32_t turn) {
  return "trajectory-" + std::to_string(id) + "-turn-" + std::to_string(turn);
}

std::string origin_of(const std::string& name, const fs::path& run) {
  unsigned long long id = 0;
  unsigned turn = 0;
  // NOLINTNEXTLINE(cert-err34-c): the name is compared with what its numbers give
  if (std::sscanf(name.c_str(), "trajectory-%llu-turn-%u", &id, &turn) != 2) return "";
  if (found_name(id, turn) != name) return "";
  return "trajectory " + std::to_string(id) + ", turn " + std::to_string(turn) + " of " +
         run.string();
}

void FoundFolder::judged(TrajectoryId id, uint32_t turn, const EvaluateCall& call,
                         const Verdict& verdict) {
  if (!runs(call.request)) return;
  const std::scoped_lock lock(mutex_);
  const auto before = best_.find(id);
  const double rank = rank_of(verdict);
  if (before != best_.end() && call.submission.files == before->second.files) {
    before->second.rank = std::max(before->second.rank, rank);
    return;
  }
  if (before != best_.end() && rank < before->second.rank) return;
  const std::string name = found_name(id, turn);
  if (auto kept = replace_folder(folder_ / name, call.submission.files); !kept) {
    if (!failure_) failure_ = kept.error();
    return;
  }
  std::error_code error;
  if (before != best_.end() && before->second.name != name) {
    fs::remove_all(folder_ / before->second.name, error);
  }
  best_[id] = {rank, name, call.submission.files};
}

std::optional<Error> FoundFolder::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

}  // namespace warpsmith::commands
