// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cpu/bench_decode.hpp"

#include <chrono>

#include "policy/generate/cpu/cpu_engine.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::policy {
namespace {

using Seconds = std::chrono::duration<double>;

EngineRequest make_request(const ModelConfig& model, const DecodeBenchOptions& options,
                           int64_t index) {
  RandomStream random(options.seed, "bench decode", static_cast<uint64_t>(index));
  EngineRequest request{.session = static_cast<SessionId>(index), .whole = true};
  for (int64_t i = 0; i < options.prompt_tokens; ++i) {
    const uint64_t token = random.below(static_cast<uint64_t>(model.vocab));
    request.new_tokens.push_back(static_cast<int32_t>(token));
  }
  request.params.max_tokens = static_cast<int32_t>(options.new_tokens);
  request.params.seed = options.seed;
  request.params.stream = request.session;
  return request;
}

}  // namespace

Result<DecodeBenchReport> bench_decode(const Transformer& model,
                                       const DecodeBenchOptions& options) {
  const int64_t longest = options.prompt_tokens + options.new_tokens + 1;
  const EngineConfig config{.max_sessions = options.batch,
                            .max_session_tokens = longest,
                            .cache_tokens = options.batch * (longest + block_tokens)};
  auto engine = make_cpu_engine(model.config(), config);
  if (!engine) return tl::unexpected(engine.error());
  (*engine)->load(PolicyVersion{}, model.weights());
  for (int64_t i = 0; i < options.batch; ++i) {
    auto ok = (*engine)->submit(make_request(model.config(), options, i));
    if (!ok) return tl::unexpected(ok.error());
  }
  DecodeBenchReport report{.batch = options.batch};
  const auto start = std::chrono::steady_clock::now();
  auto first = start;
  int64_t while_prefilling = 0;
  while ((*engine)->has_work()) {
    const auto chunks = static_cast<int64_t>((*engine)->step().size());
    report.sampled_tokens += chunks;
    const bool prefilling = static_cast<int64_t>((*engine)->stats().computed_tokens) <=
                            options.batch * options.prompt_tokens;
    if (!prefilling) continue;
    first = std::chrono::steady_clock::now();
    while_prefilling = report.sampled_tokens;
  }
  const auto end = std::chrono::steady_clock::now();
  report.prefill_seconds = Seconds(first - start).count();
  report.decode_seconds = Seconds(end - first).count();
  report.prefill_tokens_per_second =
      static_cast<double>(options.batch * options.prompt_tokens) / report.prefill_seconds;
  report.decode_tokens_per_second =
      static_cast<double>(report.sampled_tokens - while_prefilling) / report.decode_seconds;
  return report;
}

}  // namespace warpsmith::policy
