// SPDX-License-Identifier: Apache-2.0
// What tools need from outside the workspace: the shell jail. Judging is its owner's
// (tool_box.hpp).
#pragma once

#include "runtime/result.hpp"
#include "sandbox/protocol/requests.hpp"

namespace warpsmith::sandbox {

/// Bound to the sandbox program by its owner, to scripts by tests. Each call has its owner's
/// deadline; a failure of the machinery is an Error, never a text for the agent.
class ToolServices {
 public:
  virtual ~ToolServices() = default;
  virtual Result<ShellResult> shell(const ShellRequest& request) = 0;
};

}  // namespace warpsmith::sandbox
