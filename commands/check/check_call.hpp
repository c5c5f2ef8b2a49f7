// SPDX-License-Identifier: Apache-2.0
// The arguments of `warpsmith check`, the call of the judge that its files make, and its judgement
// on a slot of this machine.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/protocol/messages.hpp"
#include "commands/check/check_report.hpp"
#include "runtime/result.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/service/client.hpp"

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
  std::vector<std::string> baselines{"auto"};  // sandbox.baselines; only "none": no baselines
};

/// Fails for an unknown name; an empty one is implied by the solution's files. `option`: what names
/// it.
Result<void> check_contract_name(const std::string& name, const std::string& option = "--contract");

/// Whether a folder contains a solution's file of this contract, or of any contract if none is
/// named.
bool holds_solution(const std::filesystem::path& folder, const std::string& contract);
/// "kernel.cpp (contract cpu)": what such a folder contains.
std::string expected_files(const std::string& contract);

/// Reads the task and the solution, with its headers, as training reads them. An error names the
/// file that is missing or wrong.
Result<sandbox::EvaluateRequest> check_call(const CheckArguments& args);

/// The judgements of all shapes that the task declares, up to the first that is not correct, and
/// the functions of those that were left out for that reason. Each has the time of --timeout. A
/// request that runs nothing concerns `get_inputs` only; so does a profile, and the others are
/// timed.
struct JudgedShapes {
  std::vector<JudgedShape> judged;
  std::vector<std::string> left_out;
};
/// Takes a slot, starts or joins its service, and judges. `progress` gets lines while it works,
/// `ender` ends it from another thread. An error means that this machine lacks what the call needs;
/// later failures are infrastructure failures of a judgement.
Result<JudgedShapes> judge_shapes(const CheckArguments& args, const sandbox::EvaluateRequest& call,
                                  const std::shared_ptr<sandbox::EndSwitch>& ender,
                                  const std::function<void(const std::string&)>& progress);

/// The text with the user's name of a solution that is one file, where the judge wrote its own:
/// kernel.cpp or model_new.py. Unchanged for a folder, whose files keep their names.
std::string with_own_name(std::string text, const std::string& contract,
                          const std::string& solution);

/// Adds advice to a failure caused by noise: other work on this machine disturbed the times.
Judgement with_advice(Judgement judgement);

}  // namespace warpsmith::commands
