// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ingest/device_turns.hpp"

namespace warpsmith::sandbox {

Result<void> DeviceTurns::compute() {
  if (lease_ || !acquire_) return {};
  if (!open_) return be_alone();
  if (!share_) {
    TRY(share_, open_());
  }
  if (share_->is_held() && share_->is_wanted()) share_->give_back();
  return share_->try_hold() ? Result<void>{} : wait([this] { return share_->hold(deadline_); });
}

Result<void> DeviceTurns::be_alone() {
  if (lease_ || !acquire_) return {};
  share_.reset();
  return wait([this]() -> Result<void> {
    TRY(lease_, acquire_(deadline_));
    return {};
  });
}

/// Gives the task the time back that the wait took.
template <class Wait>
Result<void> DeviceTurns::wait(const Wait& wait) {
  const auto left = patience_.by.left();
  TRY_VOID(wait());
  patience_ = {Blame::task, left, deadline_};
  return {};
}

}  // namespace warpsmith::sandbox
