// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/exact_comparison.hpp"

#include <algorithm>

namespace warpsmith::sandbox {

bool may_contain_indices(const TaskSignature& signature) {
  return std::ranges::any_of(signature.tensors, [](const TensorSpec& spec) {
    return spec.role == TensorRole::output && !is_float(spec.dtype);
  });
}

OrFailure<ErrorStats> compare_exactly(Bench& bench, WorkerSession& session, Outputs outputs,
                                      uint32_t worker_set, const BoundRule& rule,
                                      Patience patience) {
  const ErrorStats stats = bench.compare_with_reference(outputs.side, outputs.set, rule);
  if (stats.right() || !may_contain_indices(bench.signature())) return stats;
  const Outputs settled{Side::worker, worker_set};
  if (outputs.side != Side::worker || outputs.set != worker_set) {
    bench.copy_outputs(outputs, settled);
  }
  TRY(const bool changed, session.settle(worker_set, patience));
  return changed ? bench.compare_with_reference(settled.side, settled.set, rule) : stats;
}

}  // namespace warpsmith::sandbox
