// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench decode`: tokens per second of the generator compared with `transformers`.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "actors/base/script.hpp"
#include "commands/bench/bench.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/generate/bench_decode.hpp"
#include "policy/generate/cpu/cpu_engine.hpp"
#include "policy/generate/cuda/cuda_engine.hpp"
#include "policy/generate/cuda/memory_plan.hpp"
#include "policy/model/weights.hpp"
#include "runtime/environment.hpp"
#include "runtime/json_text.hpp"
#include "runtime/text.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

struct DecodeSubjectOptions {
  std::string device = "cpu";  // "cpu" or "cuda"
  int gpu = 0;
  std::filesystem::path model;  // a folder in Hugging Face layout
};

/// The model that is measured, on its device.
struct DecodeSubject {
  DecodeSubjectOptions options;
  policy::ModelConfig config;
  policy::ModelWeights weights;
  std::optional<double> bandwidth;  // of the GPU's memory, in bytes per second
};

struct DecodeFigures {
  policy::DecodeBenchReport report;
  std::optional<double> memory_limit;  // decoded tokens per second; on a GPU
  std::optional<double> swap_ms;       // pause for newer weights; on a GPU
};

bool on_gpu(const DecodeSubjectOptions& options) {
  return options.device == "cuda";
}

Result<DecodeSubject> with_random_weights(const DecodeSubjectOptions& options) {
  TRY(auto config, policy::read_hf_config(options.model));
  DecodeSubject subject{.options = options, .config = config};
  try {
    subject.weights = policy::random_weights_on(config, options.gpu);
  } catch (const std::exception& error) {
    return fail(ErrorCode::unsupported, std::string("random weights on a GPU: ") + error.what());
  }
  return subject;
}

Result<DecodeSubject> with_own_weights(const DecodeSubjectOptions& options) {
  TRY(const auto model, policy::load_hf_model(options.model));
  return DecodeSubject{.options = options, .config = model.config(), .weights = model.weights()};
}

Result<std::unique_ptr<policy::Engine>> make_engine(const DecodeSubject& subject,
                                                    const policy::DecodeBenchOptions& options) {
  policy::EngineConfig config = policy::bench_engine_config(options);
  if (!on_gpu(subject.options)) return policy::make_cpu_engine(subject.config, config);
  config.step_rows = 8192;
  return policy::make_cuda_engine(subject.config, config, {.gpu = subject.options.gpu});
}

/// Opens the model and measures the GPU. A folder without weights gets random ones on a GPU.
Result<DecodeSubject> open_decode_subject(const DecodeSubjectOptions& options) {
  if (!on_gpu(options)) {
    at::set_num_threads(1);  // as the peer does
    return with_own_weights(options);
  }
  TRY(const auto bandwidth, policy::copy_bandwidth(options.gpu));
  auto subject = policy::has_hf_weights(options.model) ? with_own_weights(options)
                                                       : with_random_weights(options);
  if (subject) subject->bandwidth = bandwidth;
  return subject;
}

Result<DecodeFigures> measure_decode(const DecodeSubject& subject,
                                     const policy::DecodeBenchOptions& options) {
  TRY(const auto engine, make_engine(subject, options));
  engine->load(PolicyVersion{}, subject.weights);
  const int64_t vocab = subject.config.vocab;
  const bool gpu = on_gpu(subject.options);
  if (gpu) {
    // Loads modules, records graphs and lets cuBLAS choose, as in a run that has been going for a
    // while.
    TRY_VOID(policy::bench_decode(*engine, vocab, options));
    engine->load(PolicyVersion{0, 1}, subject.weights);  // forgets the prompts
  }
  TRY(auto report, policy::bench_decode(*engine, vocab, options));
  DecodeFigures figures{.report = report};
  if (!gpu) return figures;
  TRY(const auto swap, policy::bench_swap(*engine, subject.weights, vocab, options));
  figures.swap_ms = swap * 1000;
  const double context =
      static_cast<double>(options.prompt_tokens) + static_cast<double>(options.new_tokens) / 2;
  figures.memory_limit =
      policy::cuda::decode_roofline(subject.config, options.batch, context, *subject.bandwidth);
  return figures;
}

struct DecodeArguments {
  DecodeSubjectOptions subject;
  std::vector<int64_t> batches;               // empty: those of the device
  int64_t prompt_tokens = 0, new_tokens = 0;  // 0: those of the device
  bool no_peer = false, json = false;
};

/// What is measured if the options do not say.
void fill_defaults(DecodeArguments& args) {
  const bool gpu = args.subject.device == "cuda";
  if (args.subject.model.empty()) {
    args.subject.model =
        source_folder() / (gpu ? "configs/policy/qwen3-1.7b-shape" : "configs/policy/tiny");
  }
  if (args.batches.empty()) {
    args.batches = gpu ? std::vector<int64_t>{1, 64, 256} : std::vector<int64_t>{1, 16};
  }
  if (args.prompt_tokens == 0) args.prompt_tokens = gpu ? 512 : 64;
  if (args.new_tokens == 0) args.new_tokens = gpu ? 256 : 192;
}

/// The figures of one batch size; the peer's are empty with --no-peer.
struct Figures {
  DecodeFigures own;
  std::optional<double> peer_prefill, peer_decode, peer_all;  // tokens per second
};

constexpr const char* prefill_name = "prefill_tokens_per_second";
constexpr const char* decode_name = "decode_tokens_per_second";
constexpr const char* all_name = "tokens_per_second";

Result<std::map<std::string, double>> run_peer(int64_t batch, const DecodeArguments& args) {
  const std::string script = "scripts/bench_decode_peer.py";
  TRY(const auto output,
      run_script(source_folder() / script,
                 {args.subject.model.string(), "--batch", std::to_string(batch), "--prompt-tokens",
                  std::to_string(args.prompt_tokens), "--new-tokens",
                  std::to_string(args.new_tokens), "--device",
                  args.subject.device == "cuda" ? fmt::format("cuda:{}", args.subject.gpu) : "cpu"},
                 std::chrono::minutes{30}));
  return numbers_of(script, output, {prefill_name, decode_name, all_name});
}

Result<void> add_peer(int64_t batch, const DecodeArguments& args, Figures& figures) {
  TRY(const auto peer, run_peer(batch, args));
  figures.peer_prefill = peer.at(prefill_name);
  figures.peer_decode = peer.at(decode_name);
  figures.peer_all = peer.at(all_name);
  return {};
}

nlohmann::json ratio_of(double own, const std::optional<double>& peer) {
  return peer ? nlohmann::json(own / *peer) : nullptr;
}

nlohmann::json to_json(const Figures& f) {
  const policy::DecodeBenchReport& own = f.own.report;
  nlohmann::json out{{"batch", own.batch},
                     {"decode_tokens_per_s", own.decode_tokens_per_second},
                     {"prefill_tokens_per_s", own.prefill_tokens_per_second},
                     {"tokens_per_s", own.tokens_per_second}};
  out["peer_decode_tokens_per_s"] = nullable(f.peer_decode);
  out["peer_prefill_tokens_per_s"] = nullable(f.peer_prefill);
  out["peer_tokens_per_s"] = nullable(f.peer_all);
  out["decode_ratio"] = ratio_of(own.decode_tokens_per_second, f.peer_decode);
  out["ratio"] = ratio_of(own.tokens_per_second, f.peer_all);
  out["memory_limit_tokens_per_s"] = nullable(f.own.memory_limit);
  out["swap_pause_ms"] = nullable(f.own.swap_ms);
  return out;
}

std::string compared(double own, const std::optional<double>& peer) {
  if (!peer) return fmt::format("{:.0f}", own);
  return fmt::format("{:.0f} against {:.0f}: {:.2f}x", own, *peer, own / *peer);
}

std::string to_text(const std::vector<Figures>& all) {
  std::vector<BenchRow> rows;
  for (const Figures& f : all) {
    const policy::DecodeBenchReport& own = f.own.report;
    const std::string batch = fmt::format(", batch {}", own.batch);
    rows.push_back({"decoded tokens per second" + batch,
                    compared(own.decode_tokens_per_second, f.peer_decode),
                    {}});
    if (f.own.memory_limit) {
      rows.push_back({"share of the memory limit" + batch,
                      fmt::format("{} of {:.0f}",
                                  percent_text(own.decode_tokens_per_second / *f.own.memory_limit),
                                  *f.own.memory_limit),
                      {}});
    }
    rows.push_back({"sampled tokens per second with prefill" + batch,
                    compared(own.tokens_per_second, f.peer_all),
                    {}});
    rows.push_back({"prefilled tokens per second" + batch,
                    compared(own.prefill_tokens_per_second, f.peer_prefill),
                    {}});
    if (f.own.swap_ms) {
      rows.push_back(
          {"pause for newer weights" + batch, fmt::format("{:.1f} ms", *f.own.swap_ms), {}});
    }
  }
  return table_of(rows);
}

Result<std::vector<Figures>> measure_all(const DecodeArguments& args) {
  std::vector<Figures> all;
  // The peer runs last, when the model has released the GPU's memory.
  {
    TRY(const auto subject, open_decode_subject(args.subject));
    for (const int64_t batch : args.batches) {
      TRY(auto own, measure_decode(subject, {.batch = batch,
                                             .prompt_tokens = args.prompt_tokens,
                                             .new_tokens = args.new_tokens}));
      all.push_back({.own = own});
    }
  }
  for (Figures& figures : all) {
    if (args.no_peer) break;
    TRY_VOID(add_peer(figures.own.report.batch, args, figures));
  }
  return all;
}

ExitCode bench_decode(DecodeArguments args) {
  fill_defaults(args);
  const auto all = measure_all(args);
  if (!all) return report(all.error());
  if (!args.json) {
    std::cout << to_text(*all);
    return ExitCode::success;
  }
  nlohmann::json out{{"model", args.subject.model.string()},
                     {"device", args.subject.device},
                     {"batches", nlohmann::json::array()}};
  for (const Figures& f : *all) out["batches"].push_back(to_json(f));
  std::cout << out.dump() << '\n';
  return ExitCode::success;
}

const char* const decode_footer =
    "Both have random prompts of the same length, temperature 1 and no stop tokens. On a CPU they "
    "run\n"
    "on one thread in float32, on a GPU in bf16; a folder without weights gets random ones there. "
    "The\n"
    "memory limit reads weights, keys and values once a step at the bandwidth of a copy, measured "
    "in\n"
    "the same run. The peer is `generate` of transformers in the program's Python environment.";

}  // namespace

Command bench_decode_part() {
  return {
      "decode", "Tokens per second of the generator compared with transformers",
      [](CLI::App& app) -> std::function<ExitCode()> {
        auto args = std::make_shared<DecodeArguments>();
        app.add_option("--device", args->subject.device, "cpu, or cuda for a GPU")
            ->capture_default_str()
            ->check(CLI::IsMember({"cpu", "cuda"}));
        app.add_option("--gpu", args->subject.gpu, "Number of the GPU")
            ->capture_default_str()
            ->check(CLI::Range(0, 63));
        app.add_option("--model", args->subject.model,
                       "Model folder in Hugging Face layout (default: the tiny policy; on a GPU "
                       "the shape of Qwen3-1.7B)")
            ->type_name("FOLDER");
        app.add_option("--batch", args->batches,
                       "Sequences decoded together; several sizes separated by commas (default: "
                       "1,16; on a GPU 1,64,256)")
            ->delimiter(',')
            ->check(CLI::Range(1, 4096));
        app.add_option("--prompt-tokens", args->prompt_tokens,
                       "Prompt tokens per sequence (default: 64; on a GPU 512)")
            ->check(CLI::Range(1, 1'000'000));
        app.add_option("--new-tokens", args->new_tokens,
                       "Sampled tokens per sequence (default: 192; on a GPU 256)")
            ->check(CLI::Range(2, 1'000'000));
        app.add_flag("--no-peer", args->no_peer, "Do not run transformers");
        app.add_flag("--json", args->json, "Print one JSON object on standard output");
        app.footer(decode_footer);
        return [args] { return bench_decode(*args); };
      }};
}

}  // namespace warpsmith::commands
