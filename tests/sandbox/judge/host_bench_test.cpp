// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/host_bench.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "runtime/clock.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int64_t elements = int64_t{1} << 20;  // 4 MiB: beyond the second-level caches

TaskSignature one_vector() {
  TaskSignature signature;
  signature.tensors = {{"x", TensorRole::input, Dtype::f32, {elements}, {}},
                       {"y", TensorRole::output, Dtype::f32, {1}, {}}};
  return signature;
}

/// How long it takes to touch every line of a tensor.
double read_ms(std::span<const std::byte> bytes) {
  constexpr size_t line = 64;
  std::byte all{};
  const auto begin = SteadyClock::now();
  for (size_t at = 0; at < bytes.size(); at += line) all ^= bytes[at];
  const volatile std::byte made = all;
  (void)made;
  const std::chrono::duration<double, std::milli> took = SteadyClock::now() - begin;
  return took.count();
}

TEST(HostBenchTest, ACopyLeavesNeitherSetInTheCaches) {
  if (last_level_cache_bytes() < 16ULL << 20U) GTEST_SKIP() << "a small cache";
  const auto bench = HostBench::create(one_vector()).value();
  const StreamKey key{};
  const std::vector<InputRule> rules(1);
  constexpr double none = std::numeric_limits<double>::max();
  double from = none, to = none, again = none;
  for (uint64_t round = 0; round < 10; ++round) {
    bench->fill(0, {key, round}, rules);
    (void)read_ms(bench->inputs().tensor(0, 0));  // as the party before did
    bench->copy_inputs(0, 1);
    from = std::min(from, read_ms(bench->inputs().tensor(0, 0)));
    to = std::min(to, read_ms(bench->inputs().tensor(1, 0)));
    again = std::min(again, read_ms(bench->inputs().tensor(1, 0)));
  }
  EXPECT_GT(from, 1.3 * again) << "ms; behind the copy the other set takes " << to;
  EXPECT_GT(to, 1.3 * again) << "ms";
}

}  // namespace
}  // namespace warpsmith::sandbox
