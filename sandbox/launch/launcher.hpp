// SPDX-License-Identifier: Apache-2.0
// The launcher: a jailed process of our own that carries out one candidate's launch plans. It
// starts before its candidate is known and serves that one alone. No host code of the candidate
// runs in it.
//
// Its life: warm (device open, answering no-ops); handed a plan over its socket; `confine` takes
// plan and memories and puts on the last filter; `load` makes the plan ready; `run` carries it out;
// `release` lets go of it, and the same candidate's plan for other sizes can be handed over (not on
// the software device, where a candidate's code is in this process). After a fault of the device it
// answers nothing more.
//
// A launcher may be started to record: then `collect` leaves what the runs launched in one more
// shared memory (record_file.hpp), and `count` adds what hardware counters say. It times nothing
// that counts.
#pragma once

#include <string>

#include "sandbox/launch/plan_device.hpp"

namespace warpsmith::sandbox {

inline constexpr int launcher_control_fd = 3;
inline constexpr int launcher_socket_fd = 4;
inline constexpr int launcher_records_fd = 5;  // of one that records

/// What a launcher carries plans out on: the words of its command line.
inline constexpr const char* cuda_device_name = "cuda";
inline constexpr const char* software_device_name = "software";
/// The word behind it for a launcher that records.
inline constexpr const char* recording_name = "recording";

/// Returns the exit code. `device` is one of the names above.
int run_launcher(const std::string& device, Recording recording);

}  // namespace warpsmith::sandbox
