// SPDX-License-Identifier: Apache-2.0
// The peer of `bench evaluate` on a GPU: the released workspace's protocol on one of the same
// kernels.
#pragma once

#include <string>

#include "runtime/result.hpp"
#include "runtime/submission.hpp"

namespace warpsmith::commands {

/// Seconds, as scripts/bench_workspace_peer.py measures them.
struct WorkspacePeer {
  double compile_s = 0, verify_s = 0, profile_s = 0;
  double total_s = 0;
  double held_s = 0;  // that the GPU is held: all but the compilation
};

/// The task of the peer; its kernel takes one input and the number of its rows.
inline constexpr const char* workspace_peer_task = "scaled_softmax";

/// Runs the script on one solution for at most ten minutes. A failure has the script's own message.
Result<WorkspacePeer> measure_workspace_peer(const std::string& task_file, const FileSet& solution);

}  // namespace warpsmith::commands
