// SPDX-License-Identifier: Apache-2.0
// JSON that only a GPU makes the program write, for measurements that are given here.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sandbox/judge/evidence.hpp"
#include "sandbox/profile/profile.hpp"
#include "tests/support/golden_file.hpp"

namespace warpsmith::sandbox {
namespace {

using nlohmann::json;

void expect_golden_json(const std::string& name, const std::string& text) {
  test_support::expect_golden("tests/golden/records/" + name + ".json",
                              json::parse(text).dump(1) + '\n');
}

ProfiledKernel kernel() {
  return {.kind = cuda::RecordKind::kernel,
          .name = "rms_norm",
          .start_us = 1.5,
          .time_us = 8,
          .grid = {256, 2, 1},
          .block = {128, 2, 1},
          .registers = 64,
          .shared_bytes = 1024,
          .static_shared_bytes = 512,
          .local_bytes = 16,
          .counters = cuda::KernelCounters{.dram_read_bytes = 4e6,
                                           .dram_written_bytes = 2e6,
                                           .flops = 8e6,
                                           .tensor_flops = 16e6,
                                           .warps_active = 0.5}};
}

/// One call with counters, one without, one unknown.
Profile profile() {
  Profile profile;
  profile.candidate.kernels = {kernel(),
                               {.kind = cuda::RecordKind::fill,
                                .name = "fill",
                                .start_us = 10,
                                .time_us = 1,
                                .bytes = 4096}};
  ProfiledKernel uncounted = kernel();
  uncounted.counters.reset();
  profile.eager = {.kernels = {uncounted}, .uncounted = "no privilege"};
  profile.compiled.reason = "torch.compile refused";
  profile.limits = {.multiprocessors = 132,
                    .threads = 2048,
                    .blocks = 32,
                    .registers = 65536,
                    .shared_bytes = 233472,
                    .reserved_shared_bytes = 1024};
  profile.machine = {
      .cache_gbytes_per_s = 8000, .memory_gbytes_per_s = 4000, .gflops_per_s = 50000};
  profile.timed.candidate_ms = 0.25;
  profile.timed.eager_ms = 0.5;
  profile.call_bytes = 4e6;
  profile.call_flops = 2e8;
  return profile;
}

TEST(GoldenGpuJsonTest, AProfileKeepsItsForm) {
  expect_golden_json("profile", profile_json(profile()));
}

TEST(GoldenGpuJsonTest, AProfileOfTheCandidatesOwnProcessKeepsItsForm) {
  Profile own = profile();
  own.self_recorded = true;
  expect_golden_json("profile_by_candidate", profile_json(own));
}

TEST(GoldenGpuJsonTest, ATraceKeepsItsForm) {
  const auto trace = profile_trace(profile_json(profile()));
  ASSERT_TRUE(trace) << trace.error().message;
  expect_golden_json("profile_trace", *trace);
}

TEST(GoldenGpuJsonTest, EvidenceOfAGpuKeepsItsForm) {
  EvaluationOutcome outcome;
  Timings timings{.on_device = true};
  timings.further = {{.which = Baseline::tuned, .scatter = 0.0625},
                     {.which = Baseline::graphed, .reason = "it cannot be captured"}};
  timings.blocks = {{.candidate_ms = 0.25,
                     .eager_ms = 0.5,
                     .compile_ms = 0.375,
                     .order = {Implementation::candidate, Implementation::tuned,
                               Implementation::eager, Implementation::compiled},
                     .further_ms = {{Baseline::tuned, 0.3125}}}};
  outcome.clocks = ClockRecord{
      .each_block = true,
      .first_reading_ms = 0.125,
      .samples = {{.sm_mhz = 1980, .reasons = 0}, {.sm_mhz = 1965, .reasons = 0x4}, {}}};
  outcome.measured.timings = std::move(timings);
  IngestRecord record;
  record.further = {{.which = Baseline::tuned, .seconds = 4, .ms = 0.25},
                    {.which = Baseline::graphed, .reason = "no"}};
  expect_golden_json("evidence_of_a_gpu",
                     with_profile(evidence_json(outcome, record, {}, {}), Profile{}));
}

}  // namespace
}  // namespace warpsmith::sandbox
