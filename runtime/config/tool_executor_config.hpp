// SPDX-License-Identifier: Apache-2.0
// [tool_executor]: the actors that run tool calls in CPU jails.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/config/fields.hpp"

namespace warpsmith {

struct ToolExecutorConfig {
  int64_t count = 1;  // actors; each runs one call at a time
  std::chrono::milliseconds shell_timeout{std::chrono::seconds{20}};  // wall time of a `bash` call
  int64_t shell_memory_bytes = int64_t{1} << 30;
  int64_t output_bytes = 64 << 10;  // kept of one call's output
  int64_t jobs = 4;  // background jobs of one trajectory that run or have output left to read
  std::chrono::milliseconds job_lifetime{std::chrono::minutes{10}};  // wall time of one
};

void describe(Fields& fields, ToolExecutorConfig& c);

}  // namespace warpsmith
