// SPDX-License-Identifier: Apache-2.0
#include "actors/state/credits.hpp"

#include <algorithm>

namespace warpsmith::actors {

bool CreditPurse::spend(uint64_t credits) {
  if (credits > available_) return false;
  available_ -= credits;
  return true;
}

uint64_t CreditWindow::grant(const std::string& sender, uint64_t wanted) {
  const uint64_t granted = std::min(wanted, available());
  if (granted == 0) return 0;
  by_sender_[sender] += granted;
  outstanding_ += granted;
  return granted;
}

Result<void> CreditWindow::settle(const std::string& sender, uint64_t credits) {
  if (credits == 0) return {};
  const auto found = by_sender_.find(sender);
  const uint64_t held = found == by_sender_.end() ? 0 : found->second;
  if (credits > held) {
    return fail(ErrorCode::invalid_argument, "credits: " + sender + " settles " +
                                                 std::to_string(credits) + " but holds " +
                                                 std::to_string(held));
  }
  found->second -= credits;
  outstanding_ -= credits;
  if (found->second == 0) by_sender_.erase(found);
  return {};
}

uint64_t CreditWindow::reclaim(const std::string& sender) {
  const auto found = by_sender_.find(sender);
  if (found == by_sender_.end()) return 0;
  const uint64_t held = found->second;
  outstanding_ -= held;
  by_sender_.erase(found);
  return held;
}

uint64_t CreditWindow::outstanding_of(const std::string& sender) const {
  const auto found = by_sender_.find(sender);
  return found == by_sender_.end() ? 0 : found->second;
}

}  // namespace warpsmith::actors
