// SPDX-License-Identifier: Apache-2.0
// `check --profile` and `--trace`: files about what ran on the GPU.
#pragma once

#include "actors/commands/check_input.hpp"
#include "runtime/result.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::actors {

/// Writes the files that were asked for. None where the judgement is not `passed`: that is told on
/// standard error.
Result<void> write_profile(const CheckArguments& args, const Judgement& judgement);

}  // namespace warpsmith::actors
