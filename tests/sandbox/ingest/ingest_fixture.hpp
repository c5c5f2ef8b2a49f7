// SPDX-License-Identifier: Apache-2.0
// Ingests tasks on the CPU with one worker for a whole suite.
#pragma once

#include "runtime/environment.hpp"
#include "sandbox/ingest/ingest.hpp"
#include "tests/sandbox/reference/support.hpp"

namespace warpsmith::sandbox::test {

class IngestTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (python_interpreter().empty()) return;
    folder = std::make_unique<TemporaryFolder>();
    auto started =
        ReferenceWorker::start(worker_options(folder->path()), Deadline::after(seconds(120)));
    ASSERT_TRUE(started) << started.error().message;
    worker = std::make_unique<ReferenceWorker>(std::move(*started));
  }
  static void TearDownTestSuite() {
    worker.reset();
    folder.reset();
  }
  void SetUp() override { REQUIRE_TORCH(); }

  static OrFailure<IngestRecord> ingest_code(const std::string& code,
                                             PrecisionLane lane = PrecisionLane::fp32_strict,
                                             IngestScope scope = IngestScope::whole,
                                             Numerics numerics = Numerics::strict) {
    const Machine machine{.limits = {100, 10, 50}};
    Task task = task_of("t", code);
    task.lane = lane;
    return ingest_task(
        {.worker = *worker, .machine = machine, .task = task, .scope = scope, .numerics = numerics},
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

  inline static std::unique_ptr<TemporaryFolder> folder;
  inline static std::unique_ptr<ReferenceWorker> worker;
};

}  // namespace warpsmith::sandbox::test
