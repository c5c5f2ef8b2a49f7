// SPDX-License-Identifier: Apache-2.0
// The service that tools need from outside the workspace: the shell jail. Judging goes through the
// caller instead (tool_box.hpp).
#pragma once

#include "runtime/result.hpp"
#include "sandbox/protocol/requests.hpp"

namespace warpsmith::sandbox {

/// Implemented by the sandbox program, and by scripts in tests. The implementation sets each call's
/// deadline. A failure of the machine is an Error, never text for the agent.
class ToolServices {
 public:
  virtual ~ToolServices() = default;
  virtual Result<ShellResult> shell(const ShellRequest& request) = 0;
  /// Jobs end with the service; their state is then `unknown`.
  virtual Result<JobReport> job(const JobRequest& request) = 0;
};

}  // namespace warpsmith::sandbox
