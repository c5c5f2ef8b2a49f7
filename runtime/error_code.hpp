// SPDX-License-Identifier: Apache-2.0
// The failures that a caller can act on: one enum for the whole program.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/describe.hpp"

namespace warpsmith {

enum class ErrorCode : uint8_t {
  invalid_config,    // a configuration, plan or option is wrong; the message names file and line
  invalid_argument,  // a call's argument is out of its documented range
  parse_failed,      // bytes or text from outside do not follow their format
  not_found,         // a named file, run, task or actor does not exist
  already_exists,    // something that must be new is already there
  io_failed,         // the operating system refused a read or a write
  disk_full,         // a write failed because the disk is full
  locked,            // another process has locked the resource
  corrupt,           // stored bytes do not match their checksum
  timeout,           // a deadline passed
  capacity,          // a bound (queue, credit, memory) is reached
  stale,             // older than the allowed version lag
  unsupported,       // valid, but not possible on this machine or in this build
  process_failed,    // a child process ended unexpectedly
  peer_lost,         // the other end of a connection has closed or died
  infrastructure,    // a failure of this system, which must never become a reward
};

constexpr auto names_of(ErrorCode) {
  return std::to_array<std::string_view>(
      {"invalid_config", "invalid_argument", "parse_failed", "not_found", "already_exists",
       "io_failed", "disk_full", "locked", "corrupt", "timeout", "capacity", "stale", "unsupported",
       "process_failed", "peer_lost", "infrastructure"});
}

}  // namespace warpsmith
