// SPDX-License-Identifier: Apache-2.0
// What a sandbox actor drives: one device's judge. The program binds the sandbox process; tests
// bind scripted ones.
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
  /// Every later call would fail: the owner makes another backend.
  virtual bool lost() const { return false; }
  /// `tell` hears lines about the call in hand, on the thread of that call. May be ignored.
  virtual void on_progress(const std::function<void(const std::string&)>& /*tell*/) {}
};

/// Makes a backend on the thread that will use it; called again after a backend was lost.
using SandboxBackendFactory = std::function<Result<std::unique_ptr<SandboxBackend>>()>;

}  // namespace warpsmith::actors
