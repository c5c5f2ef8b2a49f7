// SPDX-License-Identifier: Apache-2.0
// The judge of one device, as a sandbox actor uses it. The program uses the sandbox process, tests
// a scripted judge.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::actors {

/// Used by one thread. Every call returns within `budget` plus a second.
class SandboxBackend {
 public:
  SandboxBackend() = default;
  SandboxBackend(const SandboxBackend&) = delete;
  SandboxBackend& operator=(const SandboxBackend&) = delete;
  virtual ~SandboxBackend() = default;

  virtual Judgement evaluate(const Task& task, const Submission& submission, Request request,
                             std::chrono::milliseconds budget) = 0;
  virtual Result<TaskFacts> ingest(const Task& task, std::chrono::milliseconds budget) = 0;
  /// True when every later call would fail: the owner then makes another backend.
  virtual bool lost() const { return false; }
  /// Calls `tell` with lines about the call in hand, on that call's thread. Optional.
  virtual void on_progress(const std::function<void(const std::string&)>& /*tell*/) {}
};

/// Makes a backend on the thread that will use it; called again after a loss.
using SandboxBackendFactory = std::function<Result<std::unique_ptr<SandboxBackend>>()>;

}  // namespace warpsmith::actors
