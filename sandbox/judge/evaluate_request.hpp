// SPDX-License-Identifier: Apache-2.0
// What the sandbox is asked: a task, a frozen submission, and how far to go with it.
#pragma once

#include "runtime/submission.hpp"
#include "runtime/task.hpp"

namespace warpsmith::sandbox {

struct EvaluateRequest {
  Task task;
  Submission submission;
  Request what = Request::final;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(task, submission, what);
  }
};

}  // namespace warpsmith::sandbox
