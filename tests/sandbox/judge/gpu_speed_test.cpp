// SPDX-License-Identifier: Apache-2.0
// Checks that the bench is not the bottleneck of an evaluation.
#include <algorithm>
#include <chrono>
#include <iostream>

#include "tests/sandbox/judge/gpu_stage.hpp"

namespace warpsmith::sandbox {
namespace {

using test::tensor_of;
using test::test_key;

class GpuSpeedTest : public test::GpuTest {};

constexpr int64_t elements = 1LL << 28;

/// Prints and returns the bytes per second of the fastest of several runs.
template <class Work>
double speed(const char* what, double bytes, const Work& work) {
  double best = 1e9;
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  std::cout << what << ": " << best * 1e3 << " ms, " << bytes / best / 1e12 << " TB/s\n";
  return bytes / best;
}

TEST_F(GpuSpeedTest, FillsAndJudgesAtTheMemorysSpeed) {
  TaskSignature signature;
  signature.tensors = {tensor_of(TensorRole::input, Dtype::f32, {elements / 4096, 4096}),
                       tensor_of(TensorRole::output, Dtype::f32, {elements})};
  if (verifier_->free_memory() < 20'000'000'000) GTEST_SKIP() << "needs 20 GB of device memory";
  const auto bench = bench_of(signature);
  const std::vector<InputRule> rules(1);
  const auto inputs = inputs_of(*bench);
  const double set = elements * 4.0;
  std::cout << verifier_->facts().name << '\n';
  const double memset =
      speed("memset", static_cast<double>(inputs.bytes()), [&] { inputs.clear(); });
  double dense = 0;
  for (size_t d = 0; d < distribution_count; ++d) {
    const auto distribution = static_cast<Distribution>(d);
    dense = speed(std::string("fill ").append(to_string(distribution)).c_str(), set,
                  [&] { bench->fill(0, {test_key, 1, distribution}, rules); });
  }
  speed("copy of inputs, read and written", 2 * set, [&] { bench->copy_inputs(0, 1); });
  speed("hash", set, [&] { (void)bench->inputs_hash(0); });
  speed("reset, of every set", set * bench->sets(), [&] { bench->reset(0); });
  speed("renew", set * bench->sets(), [&] { bench->renew(); });
  result_of(*bench).clear();
  const double judged = speed("comparison with references", 4 * set,
                              [&] { (void)bench->compare_with_reference(Side::worker, 0, {}); });
  std::vector<std::vector<float>> profiles;
  speed("profiles", set, [&] { bench->raise_profiles(profiles); });
  bench->use_profiles(profiles);
  speed("comparison with the worker", 2 * set,
        [&] { (void)bench->compare_outputs({Side::worker, 0}, {Side::worker, 1}, {}); });
  EXPECT_GT(dense, memset / 4);
  EXPECT_GT(judged, memset / 4);
}

}  // namespace
}  // namespace warpsmith::sandbox
