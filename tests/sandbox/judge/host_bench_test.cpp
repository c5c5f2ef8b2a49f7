// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/host_bench.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "runtime/clock.hpp"
#include "sandbox/commit/tensor_memory.hpp"

namespace warpsmith::sandbox {
namespace {

// 256 KiB fit the second-level cache, which other cores do not share.
constexpr int64_t elements = int64_t{1} << 16;

TaskSignature one_vector() {
  TaskSignature signature;
  signature.tensors = {{"x", TensorRole::input, Dtype::f32, {elements}, {}},
                       {"y", TensorRole::output, Dtype::f32, {1}, {}}};
  return signature;
}

/// The time to read every line of a tensor, each read depending on the previous one, in an order
/// that no prefetcher follows. Without sanitizers, whose checks would take longer than the memory.
__attribute__((no_sanitize("address", "undefined"))) double read_ms(
    std::span<const std::byte> bytes) {
  constexpr size_t line = 64;
  const size_t lines = bytes.size() / line;  // a power of two: the generator visits all of them
  const volatile size_t none = 0;            // hidden from the compiler
  const size_t mask = none;
  const std::byte* const first = bytes.data();
  size_t at = 0;
  const auto begin = SteadyClock::now();
  for (size_t i = 0; i < lines; ++i) {
    at = (at * 1'664'525 + 1'013'904'223 + (static_cast<size_t>(first[at * line]) & mask)) % lines;
  }
  const std::chrono::duration<double, std::milli> took = SteadyClock::now() - begin;
  EXPECT_EQ(at, 0U) << "not all lines were read";
  return took.count();
}

TEST(HostBenchTest, KeepsTheWorkersOutputsInThePlaceOfACandidates) {
  const auto bench = HostBench::create(one_vector()).value();
  bench->renew();
  bench->use_profiles({{1.0F}});
  const Outputs kept{Side::candidate}, own{Side::worker};
  EXPECT_FALSE(bench->compare_outputs(kept, own, {}).right()) << "the candidate's are poisoned";
  bench->copy_outputs({Side::worker, 0}, {Side::candidate, 0});
  EXPECT_TRUE(bench->compare_outputs(kept, own, {}).right());
  EXPECT_TRUE(bench->guards_intact(0));
}

/// The shortest time to read a set after a copy, a second time, and after it is evicted.
struct ReadTimes {
  double from = std::numeric_limits<double>::max(), to = from, again = from, evicted = from;
};

ReadTimes read_times(HostBench& bench) {
  const std::vector<InputRule> rules(1);
  const auto first = bench.inputs().tensor(0, 0), second = bench.inputs().tensor(1, 0);
  ReadTimes least;
  for (uint64_t round = 0; round < 10; ++round) {
    bench.fill(0, {StreamKey{}, round}, rules);
    (void)read_ms(first);  // as the previous party does
    bench.copy_inputs(0, 1);
    least.from = std::min(least.from, read_ms(first));
    least.to = std::min(least.to, read_ms(second));
    least.again = std::min(least.again, read_ms(second));
    evict(second);
    least.evicted = std::min(least.evicted, read_ms(second));
  }
  return least;
}

TEST(HostBenchTest, ACopyLeavesNeitherSetInTheCaches) {
  const auto bench = HostBench::create(one_vector()).value();
  const ReadTimes took = read_times(*bench);
  if (took.evicted < 2 * took.again) {
    GTEST_SKIP() << "this machine's times do not show its caches: " << took.evicted
                 << " ms for evicted lines, " << took.again << " ms for the same ones again";
  }
  const double nearer_to_evicted = (took.again + took.evicted) / 2;
  EXPECT_GT(took.from, nearer_to_evicted) << "ms; the other set takes " << took.to;
  EXPECT_GT(took.to, nearer_to_evicted) << "ms";
}

}  // namespace
}  // namespace warpsmith::sandbox
