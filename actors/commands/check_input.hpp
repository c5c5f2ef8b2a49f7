// SPDX-License-Identifier: Apache-2.0
// What `warpsmith check` is asked to judge, read from its files.
#pragma once

#include <string>
#include <vector>

#include "actors/protocol/messages.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

struct CheckArguments {
  std::string place;     // DIR, or with --task the solution
  std::string task;      // file; empty: reference.py in DIR
  std::string contract;  // empty: by the solution's files
  std::string numerics = "strict";
  bool json = false, compile_only = false, explain = false;
  std::string profile, trace;  // files for what ran on the GPU; empty: none
  int timeout_s = 300;
  int gpu = 0;
  std::vector<std::string> baselines{"auto"};  // sandbox.baselines; "none" alone: none
};

/// The task, and the solution as training takes it, headers and all. What is missing or wrong is
/// named with its file.
Result<EvaluateCall> check_call(const CheckArguments& args);

}  // namespace warpsmith::actors
