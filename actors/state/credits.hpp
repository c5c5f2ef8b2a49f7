// SPDX-License-Identifier: Apache-2.0
// Credits: what bounds a stream, because mailboxes are unbounded. The receiver owns a window and
// grants from it; the sender keeps a purse and sends only what it can pay for.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/result.hpp"

namespace warpsmith::actors {

/// The sender's side. Never negative: spending more than there is is refused.
class CreditPurse {
 public:
  void receive(uint64_t credits) { available_ += credits; }
  /// All or nothing.
  bool spend(uint64_t credits);
  /// The receiver is gone, and its grants with it.
  void forget() { available_ = 0; }
  uint64_t available() const { return available_; }

 private:
  uint64_t available_ = 0;
};

/// The receiver's side: grants of all senders together never exceed the limit, which therefore
/// bounds what can wait in its mailbox.
class CreditWindow {
 public:
  explicit CreditWindow(uint64_t limit) : limit_(limit) {}

  /// Grants up to `wanted` to `sender`; gives how many. Zero when the window is used up.
  uint64_t grant(const std::string& sender, uint64_t wanted);
  /// `sender` used that many and they were handled. `invalid_argument` if it never had them.
  Result<void> settle(const std::string& sender, uint64_t credits);
  /// `sender` is gone: its grants return to the window. Gives how many.
  uint64_t reclaim(const std::string& sender);
  /// A smaller limit takes effect as grants are settled; nothing is taken back.
  void resize(uint64_t limit) { limit_ = limit; }

  uint64_t limit() const { return limit_; }
  uint64_t outstanding() const { return outstanding_; }
  uint64_t available() const { return outstanding_ < limit_ ? limit_ - outstanding_ : 0; }
  uint64_t outstanding_of(const std::string& sender) const;

 private:
  uint64_t limit_;
  uint64_t outstanding_ = 0;
  std::map<std::string, uint64_t> by_sender_;  // only non-zero ones
};

}  // namespace warpsmith::actors
