// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/token_channel.hpp"

#include <utility>

namespace warpsmith::commands {

std::vector<ChannelToken> TokenChannel::take(Deadline deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline.at(),
                      [this] { return !tokens_.empty() || failure_.has_value(); });
  return std::exchange(tokens_, {});
}

std::optional<Error> TokenChannel::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void TokenChannel::push(const ChannelToken& token) {
  {
    const std::lock_guard lock(mutex_);
    tokens_.push_back(token);
  }
  changed_.notify_one();
}

void TokenChannel::fail_with(Error error) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(error);
  }
  changed_.notify_one();
}

}  // namespace warpsmith::commands
