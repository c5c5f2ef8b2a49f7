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
bool note_failure(FurtherBaselines& further, Baseline which, const Error& error,
                  std::chrono::milliseconds patience) {
  switch (error.code) {
    case ErrorCode::invalid_argument:  // refused
      further.drop(which, error.message);
      return true;
    case ErrorCode::timeout:
      further.drop(which, too_long(patience));
      return false;
    default:
      further.worker_ended(which, error.message);
      return false;
  }
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

Result<void> make_ready(ReferenceWorker& worker, const Task& task, FurtherBaselines& further,
                        Deadline deadline, const Progress& progress,
                        std::map<Baseline, double>* seconds) {
  for (const Baseline which : further.left()) {
    if (progress) progress(task.id + ": " + std::string(to_string(which)));
    const auto patience = deadline.left() / 2;
    const auto made = worker.compile(task, which, Deadline::after(patience));
    if (!made) {
      if (note_failure(further, which, made.error(), patience)) continue;
      return fail(std::string(to_string(which)), made.error());
    }
    if (seconds != nullptr) (*seconds)[which] = made->seconds;
    if (!made->ready) further.drop(which, made->reason);
  }
  return {};
}

Result<WorkerSession> enter_with(ReferenceWorker& worker, const Task& task,
                                 const SessionMemory& memory, SessionOptions options,
                                 FurtherBaselines& further, Deadline deadline) {
  options.graphs = further.has(Baseline::graphed);
  auto session = worker.enter(task, memory, options, deadline);
  const bool refused = !session && session.error().code == ErrorCode::invalid_argument;
  if (!options.graphs || !refused) return session;
  further.drop(Baseline::graphed, session.error().message);
  options.graphs = false;
  return worker.enter(task, memory, options, deadline);
}

}  // namespace warpsmith::sandbox
