// SPDX-License-Identifier: Apache-2.0
// Writes the files of `check --profile` and `--trace`.
#pragma once

#include "commands/check_input.hpp"
#include "runtime/result.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::commands {

/// Writes the files that `args` name. If the judgement is not `passed`, writes none and says so on
/// standard error.
Result<void> write_profile(const CheckArguments& args, const Judgement& judgement);

}  // namespace warpsmith::commands
