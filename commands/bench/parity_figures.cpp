// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/parity_figures.hpp"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "actors/base/script.hpp"
#include "commands/bench/parity_prompts.hpp"
#include "commands/bench/scratch_folder.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/generate/cpu/cpu_engine.hpp"
#include "policy/generate/cuda/cuda_engine.hpp"
#include "policy/learn/placement.hpp"
#include "runtime/environment.hpp"
#include "runtime/random_stream.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

constexpr int64_t sampled_each = 256;
constexpr int64_t greedy_sequences = 20, greedy_each = 64;

/// A prompt and the tokens that the engine put after it.
struct ScoredText {
  bool greedy = false;
  std::vector<int32_t> prompt, tokens;
  std::vector<float> log_probs;
};

int64_t sampled_texts(const ParityOptions& options) {
  return (options.tokens + sampled_each - 1) / sampled_each;
}

Result<ParityPrompts> prompts_for(const ParityOptions& options, int64_t vocab) {
  if (!options.demonstrations.empty()) {
    return prompts_of_demonstrations(options.demonstrations, options.model);
  }
  const auto count = static_cast<size_t>(sampled_texts(options) + greedy_sequences);
  return random_parity_prompts(count, options.seed, vocab);
}

/// The prompts in turn.
std::vector<ScoredText> texts_for(const ParityOptions& options, const ParityPrompts& prompts) {
  const auto sampled = static_cast<size_t>(sampled_texts(options));
  std::vector<ScoredText> texts(sampled + greedy_sequences);
  for (size_t i = 0; i < texts.size(); ++i) {
    texts[i] = {i >= sampled, prompts.prompts[i % prompts.prompts.size()], {}, {}};
  }
  return texts;
}

int64_t longest_of(const std::vector<ScoredText>& texts) {
  size_t longest = 0;
  for (const ScoredText& text : texts) longest = std::max(longest, text.prompt.size());
  return static_cast<int64_t>(longest) + sampled_each + 1;
}

Result<std::unique_ptr<policy::Engine>> make_engine(const ParityOptions& options,
                                                    const policy::ModelConfig& model,
                                                    const std::vector<ScoredText>& texts) {
  const int64_t longest = longest_of(texts);
  const auto count = static_cast<int64_t>(texts.size());
  const policy::EngineConfig config{.max_sessions = count,
                                    .max_session_tokens = longest,
                                    .cache_tokens = count * (longest + policy::block_tokens)};
  if (options.device == ComputeDevice::cpu) return policy::make_cpu_engine(model, config);
  const auto precision = options.precision == ComputePrecision::bf16
                             ? policy::cuda::Precision::bf16
                             : policy::cuda::Precision::fp32;
  return policy::make_cuda_engine(model, config, {.gpu = options.gpu, .precision = precision});
}

policy::EngineRequest request_of(const ScoredText& text, size_t index, uint64_t seed,
                                 const std::vector<int32_t>& stop_tokens) {
  policy::EngineRequest request{.session = index, .whole = true, .new_tokens = text.prompt};
  request.params.max_tokens = static_cast<int32_t>(text.greedy ? greedy_each : sampled_each);
  request.params.temperature = text.greedy ? 0.0 : 1.0;
  request.params.seed = seed;
  request.params.stream = index;
  request.params.stop_tokens = stop_tokens;
  return request;
}

Result<void> continue_all(policy::Engine& engine, std::vector<ScoredText>& texts, uint64_t seed,
                          const std::vector<int32_t>& stop_tokens) {
  for (size_t i = 0; i < texts.size(); ++i) {
    if (auto ok = engine.submit(request_of(texts[i], i, seed, stop_tokens)); !ok) return ok;
  }
  while (engine.has_work()) {
    for (const policy::EngineOutput& out : engine.step()) {
      ScoredText& text = texts[out.session];
      text.tokens.insert(text.tokens.end(), out.tokens.begin(), out.tokens.end());
      text.log_probs.insert(text.log_probs.end(), out.log_probs.begin(), out.log_probs.end());
    }
  }
  return {};
}

/// Log-probabilities of `text.tokens` as the learner computes them.
std::vector<float> learners_log_probs(const policy::Transformer& model, const ScoredText& text) {
  std::vector<int32_t> whole = text.prompt;
  whole.insert(whole.end(), text.tokens.begin(), text.tokens.end());
  const policy::PackedBatch batch = policy::pack_sequences({&whole, 1});
  const auto count = static_cast<int64_t>(text.tokens.size());
  const auto first_token = static_cast<int64_t>(text.prompt.size());
  const at::Tensor hidden = model.forward(batch).narrow(0, first_token - 1, count);
  const at::Tensor targets = batch.tokens.narrow(0, first_token, count).to(hidden.device());
  const at::Tensor scores = policy::token_log_probs(hidden, model.head(), targets)
                                .log_probs.to(at::kCPU, at::kFloat)
                                .contiguous();
  const auto* first = scores.const_data_ptr<float>();
  return {first, first + count};
}

LogProbGap gap_to_learner(const policy::Transformer& model, const std::vector<ScoredText>& texts) {
  const at::NoGradGuard no_grad;
  LogProbGap gap;
  double sum = 0, count = 0;
  for (const ScoredText& text : texts) {
    if (text.greedy) continue;
    const std::vector<float> scores = learners_log_probs(model, text);
    for (size_t i = 0; i < scores.size(); ++i) {
      const double apart = std::abs(double{scores[i]} - double{text.log_probs[i]});
      gap.max = std::max(gap.max, apart);
      sum += apart, ++count;
    }
  }
  gap.mean = sum / count;
  return gap;
}

nlohmann::json to_json(const std::vector<ScoredText>& texts) {
  nlohmann::json out = nlohmann::json::array();
  for (const ScoredText& text : texts) {
    out.push_back({{"greedy", text.greedy},
                   {"prompt", text.prompt},
                   {"tokens", text.tokens},
                   {"log_probs", text.log_probs}});
  }
  return out;
}

Result<void> add_peer(const ParityOptions& options, const std::vector<ScoredText>& texts,
                      ParityFigures& figures) {
  options.progress("transformers scores them");
  const std::string script = "scripts/bench_parity_peer.py";
  const ScratchFolder scratch;
  const auto file = scratch.path() / "texts.json";
  if (auto ok = write_file_whole(file, to_json(texts).dump()); !ok) return ok;
  const std::string device =
      options.device == ComputeDevice::cpu ? "cpu" : "cuda:" + std::to_string(options.gpu);
  const auto output =
      run_script(source_folder() / script,
                 {options.model.string(), "--texts", file.string(), "--device", device,
                  "--precision", options.precision == ComputePrecision::bf16 ? "bf16" : "fp32"},
                 std::chrono::minutes{30});
  if (!output) return tl::unexpected(output.error());
  const auto numbers = numbers_of(
      script, *output, {"tokens", "mean", "max", "wide_mean", "wide_max", "greedy_same"});
  if (!numbers) return tl::unexpected(numbers.error());
  figures.tokens = static_cast<int64_t>(numbers->at("tokens"));
  figures.peer = {numbers->at("mean"), numbers->at("max")};
  figures.wide_peer = {numbers->at("wide_mean"), numbers->at("wide_max")};
  figures.greedy_same = static_cast<int64_t>(numbers->at("greedy_same"));
  return {};
}

}  // namespace

Result<void> write_random_model(const std::filesystem::path& from, const std::filesystem::path& to,
                                uint64_t seed) {
  RandomStream random(seed, "bench parity weights");
  const auto model = policy::make_hf_model(from, random);
  if (!model) return tl::unexpected(model.error());
  std::error_code error;
  std::filesystem::create_directories(to, error);
  if (error) return fail_with_errno("cannot make", to, error.value());
  return policy::save_hf_model(to, *model, from);
}

Result<ParityFigures> measure_parity(const ParityOptions& options) {
  LearnerConfig learner;
  learner.device = options.device;
  learner.gpu = options.gpu;
  learner.precision = options.precision;
  if (auto there = policy::check_placement(learner); !there) return tl::unexpected(there.error());
  options.progress("reading the model");
  auto model = policy::load_hf_model(options.model);
  if (!model) return tl::unexpected(model.error());
  const auto prompts = prompts_for(options, model->config().vocab);
  if (!prompts) return tl::unexpected(prompts.error());
  std::vector<ScoredText> texts = texts_for(options, *prompts);
  {
    const auto engine = make_engine(options, model->config(), texts);
    if (!engine) return tl::unexpected(engine.error());
    options.progress("the engine samples " + std::to_string(options.tokens) + " tokens");
    (*engine)->load(PolicyVersion{}, model->weights());
    if (auto ok = continue_all(**engine, texts, options.seed, prompts->stop_tokens); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  options.progress("the learner scores them");
  ParityFigures figures;
  for (const ScoredText& text : texts) {
    if (text.greedy) figures.greedy += static_cast<int64_t>(text.tokens.size());
  }
  figures.learner =
      gap_to_learner(policy::placed(model->config(), model->weights(), learner), texts);
  if (auto ok = add_peer(options, texts, figures); !ok) return tl::unexpected(ok.error());
  return figures;
}

}  // namespace warpsmith::commands
