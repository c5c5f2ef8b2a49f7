// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/bench_decode.hpp"

#include <chrono>

#include "runtime/median.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::policy {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

EngineRequest make_request(int64_t vocab, const DecodeBenchOptions& options, int64_t index) {
  RandomStream random(options.seed, "bench decode", static_cast<uint64_t>(index));
  EngineRequest request{.session = static_cast<SessionId>(index), .whole = true};
  for (int64_t i = 0; i < options.prompt_tokens; ++i) {
    const uint64_t token = random.below(static_cast<uint64_t>(vocab));
    request.new_tokens.push_back(static_cast<int32_t>(token));
  }
  request.params.max_tokens = static_cast<int32_t>(options.new_tokens);
  request.params.seed = options.seed;
  request.params.stream = request.session;
  return request;
}

Result<void> submit_all(Engine& engine, int64_t vocab, const DecodeBenchOptions& options) {
  for (int64_t i = 0; i < options.batch; ++i) {
    TRY_VOID(engine.submit(make_request(vocab, options, i)));
  }
  return {};
}

void release_all(Engine& engine, const DecodeBenchOptions& options) {
  for (int64_t i = 0; i < options.batch; ++i) engine.release(static_cast<SessionId>(i));
}

/// Runs until every sequence has a token; returns the tokens sampled so far.
int64_t prefill(Engine& engine, const DecodeBenchOptions& options) {
  std::vector<bool> begun(static_cast<size_t>(options.batch));
  int64_t sampled = 0;
  int64_t waiting = options.batch;
  while (waiting > 0 && engine.has_work()) {
    for (const EngineOutput& output : engine.step()) {
      ++sampled;
      if (begun[output.session]) continue;
      begun[output.session] = true;
      --waiting;
    }
  }
  return sampled;
}

}  // namespace

EngineConfig bench_engine_config(const DecodeBenchOptions& options) {
  const int64_t longest = options.prompt_tokens + options.new_tokens + 1;
  return {.max_sessions = options.batch,
          .max_session_tokens = longest,
          .cache_tokens = options.batch * (longest + block_tokens)};
}

Result<DecodeBenchReport> bench_decode(Engine& engine, int64_t vocab,
                                       const DecodeBenchOptions& options) {
  TRY_VOID(submit_all(engine, vocab, options));
  DecodeBenchReport report{.batch = options.batch};
  const auto start = Clock::now();
  const int64_t while_prefilling = prefill(engine, options);
  const auto first = Clock::now();
  report.sampled_tokens = while_prefilling;
  while (engine.has_work()) report.sampled_tokens += static_cast<int64_t>(engine.step().size());
  const auto end = Clock::now();
  release_all(engine, options);
  report.prefill_seconds = seconds_between(start, first);
  report.decode_seconds = seconds_between(first, end);
  report.prefill_tokens_per_second =
      static_cast<double>(options.batch * options.prompt_tokens) / report.prefill_seconds;
  report.decode_tokens_per_second =
      static_cast<double>(report.sampled_tokens - while_prefilling) / report.decode_seconds;
  report.tokens_per_second =
      static_cast<double>(report.sampled_tokens) / seconds_between(start, end);
  return report;
}

Result<double> bench_swap(Engine& engine, const ModelWeights& weights, int64_t vocab,
                          const DecodeBenchOptions& options) {
  TRY_VOID(submit_all(engine, vocab, options));
  prefill(engine, options);
  constexpr uint64_t swaps = 5;
  constexpr int steps_between = 8;
  std::vector<double> pauses;
  for (uint64_t i = 0; i < swaps; ++i) {
    for (int step = 0; step < steps_between && engine.has_work(); ++step) engine.step();
    const auto start = Clock::now();
    engine.load({engine.version().incarnation, engine.version().step + 1}, weights);
    pauses.push_back(seconds_between(start, Clock::now()));
  }
  release_all(engine, options);
  return median(pauses);
}

}  // namespace warpsmith::policy
