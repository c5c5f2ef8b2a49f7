// SPDX-License-Identifier: Apache-2.0
#include "sandbox/reference/further_baselines.hpp"

#include <algorithm>

namespace warpsmith::sandbox {
namespace {

constexpr int most_ended = 2;

std::string too_long(std::chrono::milliseconds patience) {
  return "it was not ready within " + std::to_string((patience.count() + 500) / 1000) + " s";
}

/// Records that a baseline could not be made ready; false if the worker must be replaced.
bool note_failure(FurtherBaselines& further, Baseline which, const Failure& failure,
                  std::chrono::milliseconds patience) {
  if (failure.is_refusal()) {
    further.drop(which, failure.message);
    return true;
  }
  if (failure.code != ErrorCode::timeout) further.worker_ended(which, failure.message);
  if (failure.code == ErrorCode::timeout && failure.blame == Blame::machine) {
    further.drop(which, too_long(patience));
  }
  return false;
}

}  // namespace

bool FurtherBaselines::has(Baseline which) const {
  return std::ranges::find(wanted_, which) != wanted_.end() && !dropped_.contains(which);
}

std::vector<Baseline> FurtherBaselines::left() const {
  std::vector<Baseline> left;
  std::ranges::copy_if(wanted_, std::back_inserter(left),
                       [this](const Baseline which) { return has(which); });
  return left;
}

void FurtherBaselines::drop(Baseline which, std::string reason) {
  dropped_.emplace(which, std::move(reason));
}

void FurtherBaselines::worker_ended(Baseline which, const std::string& reason) {
  if (++ended_[which] >= most_ended) drop(which, reason);
}

std::string FurtherBaselines::reason(Baseline which) const {
  const auto found = dropped_.find(which);
  return found == dropped_.end() ? std::string() : found->second;
}

OrFailure<void> make_ready(ReferenceWorker& worker, const Task& task, FurtherBaselines& further,
                           Patience patience, const Progress& progress,
                           std::map<Baseline, double>* seconds) {
  for (const Baseline which : further.left()) {
    if (progress) progress(task.id + ": " + std::string(to_string(which)));
    const auto half = patience.by.left() / 2;
    const auto made = worker.compile(task, which, {Blame::machine, half, patience});
    if (!made) {
      if (note_failure(further, which, made.error(), half)) continue;
      return fail(std::string(to_string(which)), made.error());
    }
    if (seconds != nullptr) (*seconds)[which] = made->seconds;
    if (!made->ready) further.drop(which, made->reason);
  }
  return {};
}

OrFailure<WorkerSession> enter_with(ReferenceWorker& worker, const Task& task,
                                    const SessionMemory& memory, SessionOptions options,
                                    FurtherBaselines& further, Patience patience) {
  options.graphs = further.has(Baseline::graphed);
  auto session = worker.enter(task, memory, options, patience);
  const bool refused =
      !session && (session.error().is_refusal() || session.error().code == ErrorCode::capacity);
  if (!options.graphs || !refused) return session;
  further.drop(Baseline::graphed, session.error().message);
  options.graphs = false;
  return worker.enter(task, memory, options, patience);
}

}  // namespace warpsmith::sandbox
