// SPDX-License-Identifier: Apache-2.0
#include "sandbox/bench/self_check.hpp"

#include <cstring>
#include <optional>
#include <vector>

#include "runtime/median.hpp"
#include "sandbox/contract/cpu/cpu_runner.hpp"

namespace warpsmith::sandbox {
namespace {

double microseconds(std::chrono::nanoseconds span) {
  return static_cast<double>(span.count()) / 1000;
}

TaskSignature loop_signature() {
  TaskSignature signature;
  signature.tensors.push_back({"microseconds", TensorRole::input, Dtype::i64, {}, {}});
  signature.tensors.push_back({"end", TensorRole::output, Dtype::i64, {}, {}});
  return signature;
}

struct Samples {
  std::vector<double> elapsed, gaps;
};

/// Calls the kernel `calls` times with loops of `length` microseconds.
Result<Samples> sample(Contestant& contestant, const SharedBuffers& inputs, int64_t length,
                       std::pair<int, Deadline> bounds) {
  Samples samples;
  for (int i = 0; i < bounds.first; ++i) {
    const auto set = static_cast<uint32_t>(i) % inputs.layout().sets;
    std::memcpy(inputs.tensor(set, 0).data(), &length, sizeof length);
    const CallResult result = contestant.call(set, bounds.second);
    if (result.fault) return fail(ErrorCode::infrastructure, result.fault->detail);
    samples.elapsed.push_back(microseconds(result.elapsed));
    samples.gaps.push_back(microseconds(result.stop_gap));
  }
  return samples;
}

}  // namespace

const char* const self_check_kernel = R"(
#include <time.h>
static long now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
extern "C" void solve(const void* const* in, void* const* out, const long*) {
  const long length = *static_cast<const long*>(in[0]) * 1000;
  long end = 0;
  if (length > 0) {
    const long start = now();
    while ((end = now()) - start < length) {}
  }
  *static_cast<long*>(out[0]) = end;
}
)";

Result<SelfCheck> self_check(const SelfCheckOptions& options, Deadline deadline) {
  const BufferLayout layout = make_layout(loop_signature(), 4);
  auto inputs = SharedBuffers::inputs(layout);
  if (!inputs) return fail("self check", std::move(inputs.error()));
  auto outputs = SharedBuffers::outputs(layout);
  if (!outputs) return fail("self check", std::move(outputs.error()));
  std::optional<CorePin> pin;
  if (options.core) pin.emplace(*options.core);
  const auto begin = SteadyClock::now();
  CpuContestantSpec spec{
      options.runner, options.artefact, {}, candidate_memory(*inputs, *outputs), options.core, {}};
  auto contestant = start_cpu_contestant(spec, deadline);
  if (!contestant) return fail("self check", error_of(std::move(contestant.error())));
  SelfCheck figures;
  figures.start_ms = microseconds(SteadyClock::now() - begin) / 1000;
  figures.subtracted_us = microseconds(contestant->noop());
  if (const CallResult loaded = contestant->load(deadline); loaded.fault) {
    return fail(ErrorCode::infrastructure, "self check: load: " + loaded.fault->detail);
  }
  TRY(const auto idle, sample(*contestant, *inputs, 0, {options.calls, deadline}));
  TRY(const auto loop, sample(*contestant, *inputs, 1000, {options.calls, deadline}));
  figures.raw_overhead_us = median(idle.elapsed);
  figures.stop_us = median(idle.gaps);
  figures.noop_us = figures.raw_overhead_us - figures.subtracted_us;
  figures.loop_us = median(loop.elapsed) - figures.subtracted_us;
  return figures;
}

}  // namespace warpsmith::sandbox
