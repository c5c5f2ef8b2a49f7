// SPDX-License-Identifier: Apache-2.0
// The sampled tokens of one HTTP request, from the engine's thread to the request's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "commands/serve/choice_text.hpp"
#include "runtime/clock.hpp"
#include "runtime/result.hpp"

namespace warpsmith::commands {

/// A token of one of the request's sequences.
struct ChannelToken {
  size_t sequence = 0;
  AnswerToken token;
};

/// Holds at most the tokens that the request may sample, because a slow client must not stop the
/// engine. Thread-safe.
class TokenChannel {
 public:
  explicit TokenChannel(size_t sequences) : cancelled_(sequences) {}

  /// Waits until there are tokens, the channel failed, or the deadline passed. Returns all tokens.
  std::vector<ChannelToken> take(Deadline deadline);
  /// Why no more tokens come, once all were taken.
  std::optional<Error> failure() const;
  /// The reader wants nothing more of a sequence: the engine forgets it.
  void cancel(size_t sequence) { cancelled_.at(sequence) = true; }
  void cancel_all() {
    for (auto& cancelled : cancelled_) cancelled = true;
  }
  bool cancelled(size_t sequence) const { return cancelled_.at(sequence); }

  void push(const ChannelToken& token);
  void fail_with(Error error);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ChannelToken> tokens_;
  std::optional<Error> failure_;
  std::vector<std::atomic<bool>> cancelled_;  // by sequence
};

}  // namespace warpsmith::commands
