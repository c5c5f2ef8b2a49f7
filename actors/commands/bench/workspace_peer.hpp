// SPDX-License-Identifier: Apache-2.0
// The peer of `bench evaluate` on a GPU: the released workspace's protocol on one of the same
// kernels.
#pragma once

#include <string>

#include "runtime/result.hpp"
#include "runtime/submission.hpp"

namespace warpsmith::actors {

/// Seconds (scripts/bench_workspace_peer.py).
struct WorkspacePeer {
  double compile_s = 0, verify_s = 0, profile_s = 0;
  double total_s = 0;
  double held_s = 0;  // of the GPU: all but the compilation
};

/// Of a task whose kernel takes one input and the number of its rows.
inline constexpr const char* workspace_peer_task = "scaled_softmax";

/// Runs the script over one solution, for at most ten minutes. The message of a failure is the
/// script's own.
Result<WorkspacePeer> measure_workspace_peer(const std::string& task_file, const FileSet& solution);

}  // namespace warpsmith::actors
