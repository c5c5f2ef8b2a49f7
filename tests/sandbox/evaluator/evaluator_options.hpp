// SPDX-License-Identifier: Apache-2.0
// Evaluators for tests. Those of one program share a folder, so that what is known of a task, and
// what torch.compile keeps, is made once.
#pragma once

#include "sandbox/evaluator/evaluator.hpp"

namespace warpsmith::sandbox::test {

/// Of the program that was built, on no core of its own; its cache goes with the program.
EvaluatorOptions evaluator_options();

}  // namespace warpsmith::sandbox::test
