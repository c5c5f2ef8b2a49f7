// SPDX-License-Identifier: Apache-2.0
// The process that composes and filters candidates (synthesis/worker/serve.py), one at a time, and
// the messages between it and its composer, except the records of candidates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/process/child.hpp"
#include "runtime/process/frame_socket.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

struct ComposingWorkerSpec {
  std::string python;    // an interpreter with torch
  std::string settings;  // a JSON object: the inputs that determine the candidates, and the folders
  std::vector<int> cores;
};

// Messages from a composer to its worker. Asks for the candidate with this number.
std::string number_message(uint64_t index);
/// Passes on the language model's answer.
std::string answer_message(const std::string& text);
/// Reports that the model did not answer.
std::string failure_message(const std::string& why);

/// The prompt, if the worker's message asks the run's own generator; empty for any other message.
std::optional<std::string> prompt_in(const std::string& message);

/// No call blocks on the process. The destructor ends and reaps it.
class ComposingWorker {
 public:
  /// Starts the process. Its first answer reports that it is ready and belongs to no candidate.
  static Result<ComposingWorker> start(const ComposingWorkerSpec& spec);

  /// Sends a message. Requires that every earlier one is answered.
  Result<void> tell(const std::string& message);
  /// A message that has arrived; empty: none yet. After the end of the process an error:
  /// `unsupported` if its machine refused the run and would do so again; `capacity` if the GPU was
  /// not free for a long time; else `process_failed` with the last line of its standard error.
  Result<std::optional<std::string>> answer();

 private:
  ComposingWorker(Child child, FrameSocket socket)
      : child_(std::move(child)), socket_(std::move(socket)) {}
  Error ended();

  Child child_;
  FrameSocket socket_;
};

}  // namespace warpsmith::actors
