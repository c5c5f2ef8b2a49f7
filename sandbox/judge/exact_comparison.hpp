// SPDX-License-Identifier: Apache-2.0
// The comparison with the reference where a task leaves something open.
#pragma once

#include "sandbox/failure/failure.hpp"
#include "sandbox/judge/bench.hpp"
#include "sandbox/judge/wrong_elements.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {

/// Whether an output may be an index.
bool may_contain_indices(const TaskSignature& signature);

/// Compares outputs with the reference in the result memory, which is that of `worker_set`'s
/// contents. An index of one of several equal elements is right whichever of them it names
/// (reference/worker/ties.py); to find out, this may overwrite the worker's outputs of
/// `worker_set`.
OrFailure<ErrorStats> compare_exactly(Bench& bench, WorkerSession& session, Outputs outputs,
                                      uint32_t worker_set, const BoundRule& rule,
                                      Patience patience);

/// What is wrong with the outputs in which `compare_exactly` found `errors`; call it right after,
/// with the same arguments. Reads the first elements of each output. Empty if those are right, or
/// if the only wrong one lies so close to the bound that the host rounds it to the right side.
std::optional<WrongReport> wrong_report(Bench& bench, Outputs outputs, uint32_t worker_set,
                                        const BoundRule& rule, const ErrorStats& errors);

}  // namespace warpsmith::sandbox
