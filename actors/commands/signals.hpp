// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as a value: signals are blocked in every thread and taken by main's loop.
#pragma once

#include <chrono>

namespace warpsmith::actors {

/// Blocks SIGINT and SIGTERM for this thread and all it starts; children get the old mask back.
/// Make it before the first thread.
class SignalWait {
 public:
  SignalWait();
  /// Waits up to `span`; true when one arrived.
  bool arrived(std::chrono::milliseconds span) const;
};

}  // namespace warpsmith::actors
