// SPDX-License-Identifier: Apache-2.0
// The comparison with the reference where a task leaves something open.
#pragma once

#include "sandbox/failure/failure.hpp"
#include "sandbox/judge/bench.hpp"
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

}  // namespace warpsmith::sandbox
