// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/tool_executor_config.hpp"

namespace warpsmith {

void describe(Fields& fields, ToolExecutorConfig& c) {
  fields.integer("count", c.count, {.low = 1, .high = 4096});
  fields.duration("shell_timeout", c.shell_timeout, {.low = std::chrono::milliseconds{100}});
  fields.bytes("shell_memory", c.shell_memory_bytes, {.low = 16 << 20});
  fields.bytes("output", c.output_bytes, {.low = 256, .high = 64 << 20});
  fields.integer("jobs", c.jobs, {.low = 1, .high = 16});
  fields.duration("job_lifetime", c.job_lifetime,
                  {.low = std::chrono::milliseconds{100}, .high = std::chrono::hours{24}});
}

}  // namespace warpsmith
