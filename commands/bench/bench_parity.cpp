// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench parity`: compares the log-probabilities that the engine, the learner and
// `transformers` compute for the same tokens.
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "actors/base/script.hpp"
#include "commands/bench/bench.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/format/tokenizer_json.hpp"
#include "policy/generate/cpu/cpu_engine.hpp"
#include "policy/generate/cuda/cuda_engine.hpp"
#include "policy/learn/placement.hpp"
#include "policy/text/chat_format.hpp"
#include "policy/text/demonstration_file.hpp"
#include "runtime/config/model_config.hpp"
#include "runtime/environment.hpp"
#include "runtime/random_stream.hpp"
#include "runtime/result.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/owned_folder.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

struct ParityArguments {
  std::string device = "cpu";
  std::filesystem::path model, demonstrations;
  int gpu = 0;
  int64_t tokens = 10'000;
  bool json = false;
};

/// One measurement, in one precision.
struct ParityOptions {
  ComputeDevice device = ComputeDevice::cpu;
  ComputePrecision precision = ComputePrecision::fp32;  // a CPU has fp32 only
  int gpu = 0;
  std::filesystem::path model;           // a folder in Hugging Face layout, with weights
  std::filesystem::path demonstrations;  // their prompts are continued; empty: random tokens
  int64_t tokens = 10'000;               // sampled at temperature 1, at most; at least 1
  uint64_t seed = 1;
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// Absolute differences of log-probabilities, in nats.
struct LogProbGap {
  double mean = 0, max = 0;
};

struct ParityFigures {
  int64_t tokens = 0;       // compared
  LogProbGap learner;       // of the engine's to the learner's
  LogProbGap peer;          // to those of transformers in the same precision
  LogProbGap peer_fp32;     // to those of transformers in float32
  int64_t greedy = 0;       // tokens that the engine chose greedily
  int64_t greedy_same = 0;  // of those, the ones that transformers also finds likeliest
};

/// What the engine continues: random tokens, or prompts of demonstrations.
struct ParityPrompts {
  std::vector<std::vector<int32_t>> prompts;  // at least one, none empty
  std::vector<int32_t> stop_tokens;           // end a continuation; none for random prompts
};

/// Prompts of 32 random tokens each.
ParityPrompts random_parity_prompts(size_t count, uint64_t seed, int64_t vocab) {
  constexpr size_t random_tokens = 32;
  ParityPrompts made;
  made.prompts.resize(count);
  for (size_t i = 0; i < count; ++i) {
    RandomStream random(seed, "bench parity", i);
    for (size_t t = 0; t < random_tokens; ++t) {
      made.prompts[i].push_back(static_cast<int32_t>(random.below(static_cast<uint64_t>(vocab))));
    }
  }
  return made;
}

/// The text before the first answer of each conversation of `demonstrations` (JSON lines), in
/// ChatML and in the tokens of the folder `model`. `invalid_argument` for a tokenizer without
/// ChatML's tokens or a file without conversations.
Result<ParityPrompts> prompts_of_demonstrations(const std::filesystem::path& demonstrations,
                                                const std::filesystem::path& model) {
  TRY(const auto tokenizer, policy::read_tokenizer(model));
  TRY(const auto frame, policy::frame_named("chatml", tokenizer));
  TRY(const auto conversations, policy::read_demonstrations(demonstrations, ToolSyntax::hermes));
  ParityPrompts made;
  if (const auto end = tokenizer.id_of(frame.end)) made.stop_tokens.push_back(*end);
  made.prompts.reserve(conversations.size());
  for (const policy::Demonstration& conversation : conversations) {
    const auto pieces = policy::chat_pieces(conversation.messages, frame);
    if (!pieces.empty()) made.prompts.push_back(tokenizer.encode(pieces.front().text));
  }
  if (!made.prompts.empty()) return made;
  return fail(ErrorCode::invalid_argument, demonstrations.string() + ": no conversations");
}

constexpr int64_t sampled_each = 256;
constexpr int64_t greedy_sequences = 20, greedy_each = 64;

/// A prompt and the tokens that the engine generated after it.
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

/// The texts to sample, then the greedy ones; each takes the next prompt.
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
    TRY_VOID(engine.submit(request_of(texts[i], i, seed, stop_tokens)));
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
std::vector<float> learner_log_probs(const policy::Transformer& model, const ScoredText& text) {
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
    const std::vector<float> scores = learner_log_probs(model, text);
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
  TRY(const auto scratch, OwnedFolder::make_temporary());
  const auto file = scratch.path() / "texts.json";
  TRY_VOID(write_file_whole(file, to_json(texts).dump()));
  const std::string device =
      options.device == ComputeDevice::cpu ? "cpu" : fmt::format("cuda:{}", options.gpu);
  const auto output =
      run_script(source_folder() / script,
                 {options.model.string(), "--texts", file.string(), "--device", device,
                  "--precision", options.precision == ComputePrecision::bf16 ? "bf16" : "fp32"},
                 std::chrono::minutes{30});
  if (!output) return tl::unexpected(output.error());
  TRY(const auto numbers,
      numbers_of(script, *output,
                 {"tokens", "mean", "max", "wide_mean", "wide_max", "greedy_same"}));
  figures.tokens = static_cast<int64_t>(numbers.at("tokens"));
  figures.peer = {numbers.at("mean"), numbers.at("max")};
  figures.peer_fp32 = {numbers.at("wide_mean"), numbers.at("wide_max")};
  figures.greedy_same = static_cast<int64_t>(numbers.at("greedy_same"));
  return {};
}

/// Writes random weights for the shape in `from` to the folder `to`, for all three to read.
Result<void> write_random_model(const std::filesystem::path& from, const std::filesystem::path& to,
                                uint64_t seed) {
  RandomStream random(seed, "bench parity weights");
  TRY(const auto model, policy::make_hf_model(from, random));
  std::error_code error;
  std::filesystem::create_directories(to, error);
  if (error) return fail_with_errno("cannot make", to, error.value());
  return policy::save_hf_model(to, model, from);
}

/// `not_found` for a folder without weights; else the errors of the model, the engine or the peer.
Result<ParityFigures> measure_parity(const ParityOptions& options) {
  LearnerConfig learner;
  learner.device = options.device;
  learner.gpu = options.gpu;
  learner.precision = options.precision;
  TRY_VOID(policy::check_placement(learner));
  options.progress("reading the model");
  TRY(auto model, policy::load_hf_model(options.model));
  TRY(const auto prompts, prompts_for(options, model.config().vocab));
  std::vector<ScoredText> texts = texts_for(options, prompts);
  {
    TRY(const auto engine, make_engine(options, model.config(), texts));
    options.progress(fmt::format("the engine samples {} tokens", options.tokens));
    engine->load(PolicyVersion{}, model.weights());
    TRY_VOID(continue_all(*engine, texts, options.seed, prompts.stop_tokens));
  }
  options.progress("the learner scores them");
  ParityFigures figures;
  for (const ScoredText& text : texts) {
    if (text.greedy) figures.greedy += static_cast<int64_t>(text.tokens.size());
  }
  figures.learner = gap_to_learner(policy::placed(model.config(), model.weights(), learner), texts);
  TRY_VOID(add_peer(options, texts, figures));
  return figures;
}

struct NamedFigures {
  std::string precision;
  ParityFigures figures;
};

std::string text_of(const LogProbGap& gap) {
  return fmt::format("{:.2g} (largest {:.2g})", gap.mean, gap.max);
}

std::string to_text(const NamedFigures& one) {
  const bool narrow = one.precision == "bf16";
  const ParityFigures& f = one.figures;
  const std::string in = ", " + one.precision;
  return table_of({
      {"tokens" + in, std::to_string(f.tokens), {}},
      {"engine to learner, mean |difference|" + in, text_of(f.learner), narrow ? "<= 1e-3" : ""},
      {"engine to transformers" + in, text_of(f.peer), narrow ? "<= 5e-3" : "<= 1e-4"},
      {"engine to transformers in fp32" + in, text_of(f.peer_fp32), ""},
      {"greedy tokens that are its likeliest" + in,
       fmt::format("{} of {}", f.greedy_same, f.greedy), narrow ? "" : "all"},
  });
}

nlohmann::json to_json(const NamedFigures& one) {
  const ParityFigures& f = one.figures;
  const auto gap = [](const LogProbGap& g) {
    return nlohmann::json{{"mean", g.mean}, {"max", g.max}};
  };
  return {{"precision", one.precision},  {"tokens", f.tokens},
          {"learner", gap(f.learner)},   {"transformers", gap(f.peer)},
          {"greedy", f.greedy},          {"transformers_fp32", gap(f.peer_fp32)},
          {"greedy_same", f.greedy_same}};
}

Result<std::vector<NamedFigures>> measure_each(const ParityArguments& args) {
  const bool gpu = args.device == "cuda";
  std::vector<NamedFigures> all;
  for (const ComputePrecision precision : {ComputePrecision::fp32, ComputePrecision::bf16}) {
    if (precision == ComputePrecision::bf16 && !gpu) continue;
    const std::string name = precision == ComputePrecision::bf16 ? "bf16" : "fp32";
    const std::string label = name + ": ";
    TRY(auto figures, measure_parity({.device = gpu ? ComputeDevice::cuda : ComputeDevice::cpu,
                                      .precision = precision,
                                      .gpu = args.gpu,
                                      .model = args.model,
                                      .demonstrations = args.demonstrations,
                                      .tokens = args.tokens,
                                      .progress = [&](const std::string& what) {
                                        print_progress(label + what);
                                      }}));
    all.push_back({name, figures});
  }
  return all;
}

ExitCode bench_parity(ParityArguments args) {
  if (args.model.empty()) args.model = source_folder() / "configs/policy/tiny";
  const std::filesystem::path named = args.model;
  const auto scratch = OwnedFolder::make_temporary();
  if (!scratch) return report(scratch.error());
  if (std::filesystem::exists(named / "config.json") && !policy::has_hf_weights(named)) {
    print_progress("drawing random weights");
    args.model = scratch->path() / "model";
    if (auto made = write_random_model(named, args.model, 1); !made) return report(made.error());
  }
  const auto all = measure_each(args);
  if (!all) return report(all.error());
  nlohmann::json out{
      {"model", named.string()}, {"device", args.device}, {"precisions", nlohmann::json::array()}};
  for (const NamedFigures& one : *all) {
    out["precisions"].push_back(to_json(one));
    if (!args.json) std::cout << to_text(one);
  }
  if (args.json) std::cout << out.dump() << '\n';
  return ExitCode::success;
}

}  // namespace

Command bench_parity_part() {
  return {"parity", "Log-probabilities of engine, learner and transformers for the same tokens",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<ParityArguments>();
            app.add_option("--device", args->device, "cpu (float32), or cuda (float32 and bf16)")
                ->capture_default_str()
                ->check(CLI::IsMember({"cpu", "cuda"}));
            app.add_option("--gpu", args->gpu, "Number of the GPU")
                ->capture_default_str()
                ->check(CLI::Range(0, 63));
            app.add_option("--model", args->model,
                           "Folder in Hugging Face layout; without weights it gets random ones "
                           "(default: the tiny policy)")
                ->type_name("FOLDER");
            app.add_option("--demonstrations", args->demonstrations,
                           "JSON lines of conversations (scripts/make_demonstrations.py): continue "
                           "their prompts, not random tokens")
                ->type_name("FILE")
                ->check(CLI::ExistingFile);
            app.add_option("--tokens", args->tokens,
                           "Tokens sampled at temperature 1; fewer where answers end early")
                ->capture_default_str()
                ->check(CLI::Range(1, 1'000'000));
            app.add_flag("--json", args->json, "Print one JSON object on standard output");
            app.footer(
                "The engine samples after random prompts and records log-probabilities; the\n"
                "learner and transformers score the same tokens with the same weights.");
            return [args] { return bench_parity(*args); };
          }};
}

}  // namespace warpsmith::commands
