// SPDX-License-Identifier: Apache-2.0
// The process that composes and filters candidates (synthesis/worker/serve.py), one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/process/child.hpp"
#include "runtime/process/frame_socket.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

struct ComposingSpec {
  std::string python;    // an interpreter with torch
  std::string settings;  // a JSON object: what decides the candidates, and the folders
  std::vector<int> cores;
};

/// No call waits for the process. It ends with its owner, and is reaped.
class ComposingWorker {
 public:
  /// Starts the process, whose first answer is not a candidate's: it is ready.
  static Result<ComposingWorker> start(const ComposingSpec& spec);

  /// Sends a message (worker_words.hpp). Requires that every earlier one is answered.
  Result<void> tell(const std::string& message);
  /// A message that has arrived; empty: not yet. `process_failed` with the end of its
  /// standard error when the process has ended; `unsupported` when the machine of its worker
  /// refused the run, which it would do again; `capacity` when the GPU was not free for long.
  Result<std::optional<std::string>> answer();

 private:
  ComposingWorker(Child child, FrameSocket socket)
      : child_(std::move(child)), socket_(std::move(socket)) {}
  Error ended();

  Child child_;
  FrameSocket socket_;
};

}  // namespace warpsmith::actors
