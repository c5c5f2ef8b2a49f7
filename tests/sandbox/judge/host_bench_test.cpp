// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/host_bench.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "runtime/clock.hpp"

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
  bench->keep_outputs(0);
  EXPECT_TRUE(bench->compare_outputs(kept, own, {}).right());
  EXPECT_TRUE(bench->guards_intact(0));
}

TEST(HostBenchTest, ACopyLeavesNeitherSetInTheCaches) {
  const auto bench = HostBench::create(one_vector()).value();
  const StreamKey key{};
  const std::vector<InputRule> rules(1);
  constexpr double none = std::numeric_limits<double>::max();
  double from = none, to = none, again = none;
  for (uint64_t round = 0; round < 10; ++round) {
    bench->fill(0, {key, round}, rules);
    (void)read_ms(bench->inputs().tensor(0, 0));  // as the previous party does
    bench->copy_inputs(0, 1);
    from = std::min(from, read_ms(bench->inputs().tensor(0, 0)));
    to = std::min(to, read_ms(bench->inputs().tensor(1, 0)));
    again = std::min(again, read_ms(bench->inputs().tensor(1, 0)));
  }
  EXPECT_GT(from, 2 * again) << "ms; after the copy the other set takes " << to;
  EXPECT_GT(to, 2 * again) << "ms";
}

}  // namespace
}  // namespace warpsmith::sandbox
