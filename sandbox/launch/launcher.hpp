// SPDX-License-Identifier: Apache-2.0
// The launcher: a jailed process of our own that executes one candidate's launch plans. It starts
// before its candidate is known and serves no other. No host code of the candidate runs in it.
//
// It starts warm: the device is open and no-ops are answered. It receives a plan over its socket;
// `confine` accepts the plan and the memories and installs the last filter; `load` prepares the
// plan; `run` executes it. After `release`, if the device supports it, the same candidate's plan
// for other sizes can follow. After a fault of the device it answers no further command.
//
// A launcher may be started to record: `collect` then writes what the runs launched to another
// shared memory (record_file.hpp), and `count` adds hardware counters. Its times never enter a
// verdict.
#pragma once

#include "sandbox/launch/plan_device.hpp"

namespace warpsmith::sandbox {

inline constexpr int launcher_control_fd = 3;
inline constexpr int launcher_socket_fd = 4;
inline constexpr int launcher_records_fd = 5;  // only of a launcher that records

/// The command line of a launcher, after the program's name: the mode, and one more word if it
/// records.
inline constexpr const char* launcher_mode = "launcher";
inline constexpr const char* recording_name = "recording";

/// Serves one candidate on the device that `open` returns. Returns only if it cannot begin: the
/// exit code.
int run_launcher(OpenDevice open, Recording recording);

}  // namespace warpsmith::sandbox
