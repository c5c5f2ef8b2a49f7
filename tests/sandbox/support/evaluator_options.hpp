// SPDX-License-Identifier: Apache-2.0
// Evaluators for tests. All of one program share a cache folder, so that tasks are measured once
// and torch.compile runs once.
#pragma once

#include "sandbox/evaluator/evaluator.hpp"

namespace warpsmith::sandbox::test {

/// The built program, pinned to no core; compilers on every core; the cache goes when the program
/// ends.
SandboxOptions evaluator_options();

}  // namespace warpsmith::sandbox::test
