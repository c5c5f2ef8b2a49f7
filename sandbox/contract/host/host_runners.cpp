// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/host/host_runners.hpp"

#include <utility>

namespace warpsmith::sandbox {
namespace {

constexpr std::chrono::seconds warming_patience{120};  // importing torch on a loaded machine

Patience warm_by(Deadline deadline) {
  return {Blame::machine, warming_patience, deadline};
}

}  // namespace

Result<void> HostRunners::begin_warming() {
  if (waiting_ && waiting_->alive()) return {};
  auto started = HostRunner::start(options_);
  if (!started) return tl::unexpected(std::move(started.error()));
  waiting_.emplace(std::move(*started));
  return {};
}

OrFailure<void> HostRunners::warm_up(Deadline deadline) {
  if (auto started = begin_warming(); !started) return tl::unexpected(started.error());
  auto settled = waiting_->settle(warm_by(deadline));
  if (!settled) waiting_.reset();
  return settled;
}

void HostRunners::rest(Deadline deadline) {
  if (waiting_ && !waiting_->settle(warm_by(deadline))) waiting_.reset();
}

OrFailure<HostRunner> HostRunners::take(Deadline deadline) {
  if (auto warm = warm_up(deadline); !warm) return tl::unexpected(std::move(warm.error()));
  return std::exchange(waiting_, std::nullopt).value();
}

}  // namespace warpsmith::sandbox
