// SPDX-License-Identifier: Apache-2.0
// What caused a failure. It is set where the failure happens; `RetryPolicy` decides what follows.
#pragma once

#include <cstdint>

namespace warpsmith::sandbox {

enum class Blame : uint8_t {
  candidate,  // the submission's code failed, or used up a time limit of its own
  task,       // the task cannot be judged, or used up a time limit of its own
  machine,    // a process, device or disk failed; another try may succeed
  deadline,   // the caller's time ran out
};

}  // namespace warpsmith::sandbox
