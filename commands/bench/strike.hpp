// SPDX-License-Identifier: Apache-2.0
// Sends SIGKILL to one process of a sandbox service while that works.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "commands/bench/fault_kinds.hpp"
#include "commands/bench/process_tree.hpp"

namespace warpsmith::commands {

/// Finds the process among those below a service: a jailed one is its grandchild. Pure.
std::optional<pid_t> find_piece(const std::vector<ProcessSeen>& below, Piece piece, pid_t service);

/// Kills the process, on a thread of its own, as soon as it exists.
class Strike {
 public:
  /// Begins to look after `delay`. Adds the processes that become orphans to `census`, which
  /// outlives this object.
  Strike(pid_t service, Piece piece, std::chrono::microseconds delay, ProcessCensus& census);
  /// To be destroyed after the evaluation.
  ~Strike() { (void)hit(); }
  Strike(const Strike&) = delete;
  Strike& operator=(const Strike&) = delete;

  /// Stops looking; returns true if the process was killed.
  bool hit();

 private:
  void run(std::chrono::microseconds delay);
  bool try_once();

  pid_t service_;
  Piece piece_;
  ProcessCensus& census_;
  std::atomic<bool> over_{false}, hit_{false};
  std::thread thread_;
};

}  // namespace warpsmith::commands
