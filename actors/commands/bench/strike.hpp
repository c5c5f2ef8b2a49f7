// SPDX-License-Identifier: Apache-2.0
// SIGKILL for one piece of a sandbox service that this program started, at a moment of its work.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "actors/commands/bench/fault_kinds.hpp"
#include "actors/commands/bench/process_tree.hpp"

namespace warpsmith::actors {

/// The process of a piece among those below a service, which jails hold: a grandchild of it. Pure.
std::optional<pid_t> find_piece(const std::vector<ProcessSeen>& below, Piece piece, pid_t service);

/// Waits beside an evaluation, then kills the piece as soon as it is there.
class Strike {
 public:
  /// `census` learns what is about to be orphaned; it outlives this.
  Strike(pid_t service, Piece piece, std::chrono::microseconds delay, ProcessCensus& census);
  /// The evaluation has ended.
  ~Strike() { (void)hit(); }
  Strike(const Strike&) = delete;
  Strike& operator=(const Strike&) = delete;

  /// Ends the waiting; true if the piece was killed.
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

}  // namespace warpsmith::actors
