// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/decode_subject.hpp"

#include <ATen/Parallel.h>

#include "policy/format/hf_folder.hpp"
#include "policy/generate/cpu/cpu_engine.hpp"
#include "policy/generate/cuda/copy_bandwidth.hpp"
#include "policy/generate/cuda/cuda_engine.hpp"
#include "policy/generate/cuda/memory_limit.hpp"
#include "policy/generate/cuda/random_weights.hpp"

namespace warpsmith::commands {
namespace {

bool on_gpu(const DecodeSubjectOptions& options) {
  return options.device == "cuda";
}

Result<DecodeSubject> with_random_weights(const DecodeSubjectOptions& options) {
  auto config = policy::read_hf_config(options.model);
  if (!config) return tl::unexpected(config.error());
  DecodeSubject subject{.options = options, .config = *config};
  try {
    subject.weights = policy::random_weights_on(*config, options.gpu);
  } catch (const std::exception& error) {
    return fail(ErrorCode::unsupported, std::string("random weights on a GPU: ") + error.what());
  }
  return subject;
}

Result<DecodeSubject> with_own_weights(const DecodeSubjectOptions& options) {
  const auto model = policy::load_hf_model(options.model);
  if (!model) return tl::unexpected(model.error());
  return DecodeSubject{.options = options, .config = model->config(), .weights = model->weights()};
}

Result<std::unique_ptr<policy::Engine>> make_engine(const DecodeSubject& subject,
                                                    const policy::DecodeBenchOptions& options) {
  policy::EngineConfig config = policy::bench_engine_config(options);
  if (!on_gpu(subject.options)) return policy::make_cpu_engine(subject.config, config);
  config.step_rows = 8192;
  return policy::make_cuda_engine(subject.config, config, {.gpu = subject.options.gpu});
}

}  // namespace

bool has_weights(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "model.safetensors") ||
         std::filesystem::exists(folder / "model.safetensors.index.json");
}

Result<DecodeSubject> open_decode_subject(const DecodeSubjectOptions& options) {
  if (!on_gpu(options)) {
    at::set_num_threads(1);  // as the peer does
    return with_own_weights(options);
  }
  const auto bandwidth = policy::copy_bandwidth(options.gpu);
  if (!bandwidth) return tl::unexpected(bandwidth.error());
  auto subject =
      has_weights(options.model) ? with_own_weights(options) : with_random_weights(options);
  if (subject) subject->bandwidth = *bandwidth;
  return subject;
}

Result<DecodeFigures> measure_decode(const DecodeSubject& subject,
                                     const policy::DecodeBenchOptions& options) {
  const auto engine = make_engine(subject, options);
  if (!engine) return tl::unexpected(engine.error());
  (*engine)->load(PolicyVersion{}, subject.weights);
  const int64_t vocab = subject.config.vocab;
  const bool gpu = on_gpu(subject.options);
  if (gpu) {
    // Loads modules, records graphs and lets cuBLAS choose, as in a run that has gone on for a
    // while.
    auto warm = policy::bench_decode(**engine, vocab, options);
    if (!warm) return tl::unexpected(warm.error());
    (*engine)->load(PolicyVersion{0, 1}, subject.weights);  // forgets the prompts
  }
  auto report = policy::bench_decode(**engine, vocab, options);
  if (!report) return tl::unexpected(report.error());
  DecodeFigures figures{.report = *report};
  if (!gpu) return figures;
  const auto swap = policy::bench_swap(**engine, subject.weights, vocab, options);
  if (!swap) return tl::unexpected(swap.error());
  figures.swap_ms = *swap * 1000;
  const double context =
      static_cast<double>(options.prompt_tokens) + static_cast<double>(options.new_tokens) / 2;
  figures.memory_limit =
      policy::memory_limit(subject.config, options.batch, context, *subject.bandwidth);
  return figures;
}

}  // namespace warpsmith::commands
