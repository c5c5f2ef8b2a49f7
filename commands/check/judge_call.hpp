// SPDX-License-Identifier: Apache-2.0
// Judges one kernel on a slot of this machine.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "commands/check_input.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/service/end_switch.hpp"

namespace warpsmith::commands {

/// Takes a slot, starts or joins its service, and judges. `progress` gets lines while it works,
/// `ender` ends it from another thread. An error means that this machine lacks what the call needs;
/// later failures are infrastructure failures of the judgement.
Result<Judgement> judge_call(const CheckArguments& args, const EvaluateCall& call,
                             const std::shared_ptr<sandbox::EndSwitch>& ender,
                             const std::function<void(const std::string&)>& progress);

/// Adds what to do about times that other work on this machine disturbed.
Judgement with_advice(Judgement judgement);

}  // namespace warpsmith::commands
