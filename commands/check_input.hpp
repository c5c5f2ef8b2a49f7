// SPDX-License-Identifier: Apache-2.0
// The arguments of `warpsmith check`, and the call that its files make.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "actors/protocol/messages.hpp"
#include "runtime/result.hpp"

namespace warpsmith::commands {
using namespace actors;

struct CheckArguments {
  std::string place;     // DIR; with --task the solution
  std::string task;      // file; empty: reference.py in DIR
  std::string contract;  // empty: implied by the solution's files
  std::string numerics = "strict";
  bool json = false, compile_only = false, verify_only = false, explain = false;
  std::string profile, trace;  // output files for the kernels that ran; empty: none
  int timeout_s = 300;
  int gpu = 0;
  int keep_s = 120;  // how long the sandbox stays ready for the next check
  std::vector<std::string> baselines{"auto"};  // sandbox.baselines; "none" alone: none
};

/// Fails for a name that is no contract; an empty one is implied by the solution's files.
Result<void> check_contract_name(const std::string& name);

/// Whether a folder holds a solution's file of this contract; of any if none is named.
bool holds_solution(const std::filesystem::path& folder, const std::string& contract);
/// "kernel.cpp (contract cpu)": what such a folder holds.
std::string expected_files(const std::string& contract);

/// Reads the task and the solution, headers and all, as training reads them. An error names the
/// file that is missing or wrong.
Result<EvaluateCall> check_call(const CheckArguments& args);

}  // namespace warpsmith::commands
