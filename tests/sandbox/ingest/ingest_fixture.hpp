// SPDX-License-Identifier: Apache-2.0
// Ingests tasks on the CPU with one worker for a whole suite.
#pragma once

#include "sandbox/ingest/ingest.hpp"
#include "tests/sandbox/reference/support.hpp"

namespace warpsmith::sandbox::test {

class IngestTest : public WorkerFixture {
 protected:
  static OrFailure<IngestRecord> ingest_code(const std::string& code,
                                             PrecisionLane lane = PrecisionLane::fp32_strict,
                                             IngestScope scope = IngestScope::whole,
                                             Numerics numerics = Numerics::strict) {
    const Machine machine{.limits = {100, 10, 50}};
    Task task = task_of("t", code);
    task.lane = lane;
    const SandboxSettings settings{.numerics = numerics};
    return ingest_task(
        {.worker = *worker, .machine = machine, .task = task, .settings = settings, .scope = scope},
        Deadline::after(seconds(300)));
  }
  static OrFailure<IngestRecord> ingest(const std::string& forward) {
    return ingest_code(simple_code(forward));
  }
  /// An ingest without torch.compile and timing, which take longest. Other load would hide the
  /// times of very small tasks.
  static OrFailure<IngestRecord> verified(const std::string& code) {
    return ingest_code(code, PrecisionLane::fp32_strict, IngestScope::verified);
  }
};

}  // namespace warpsmith::sandbox::test
