// SPDX-License-Identifier: Apache-2.0
// The launcher: a jailed process of our own that executes one candidate's launch plans. It starts
// before its candidate is known and serves no other. No host code of the candidate runs in it.
//
// It starts warm: the device is open and no-ops are answered. It receives a plan over its socket;
// `confine` accepts the plan and the memories and installs the last filter; `load` prepares the
// plan; `run` executes it. After `release` the same candidate's plan for other sizes can follow,
// except on the software device, where the candidate's code is in this process. After a fault of
// the device it answers no further command.
//
// A launcher may be started to record: `collect` then writes what the runs launched to another
// shared memory (record_file.hpp), and `count` adds hardware counters. Its times never enter a
// verdict.
#pragma once

#include <string>

#include "sandbox/launch/plan_device.hpp"

namespace warpsmith::sandbox {

inline constexpr int launcher_control_fd = 3;
inline constexpr int launcher_socket_fd = 4;
inline constexpr int launcher_records_fd = 5;  // only of a launcher that records

/// The device to run plans on: the words of the launcher's command line.
inline constexpr const char* cuda_device_name = "cuda";
inline constexpr const char* software_device_name = "software";
/// The word after the device, for a launcher that records.
inline constexpr const char* recording_name = "recording";

/// Returns the exit code. `device` is one of the names above.
int run_launcher(const std::string& device, Recording recording);

}  // namespace warpsmith::sandbox
