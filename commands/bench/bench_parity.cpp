// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench parity`: do engine, learner and `transformers` give tokens the same probability?
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands/bench/bench_parts.hpp"
#include "commands/bench/decode_subject.hpp"
#include "commands/bench/parity_figures.hpp"
#include "commands/bench/scratch_folder.hpp"
#include "runtime/environment.hpp"

namespace warpsmith::commands {
namespace {

struct ParityArguments {
  std::string device = "cpu";
  std::filesystem::path model, demonstrations;
  int gpu = 0;
  int64_t tokens = 10'000;
  bool json = false;
};

struct NamedFigures {
  std::string precision;
  ParityFigures figures;
};

std::string scientific(double value) {
  std::ostringstream text;
  text.precision(2);
  text << value;
  return text.str();
}

std::string text_of(const LogProbGap& gap) {
  return scientific(gap.mean) + " (largest " + scientific(gap.max) + ")";
}

std::string to_text(const NamedFigures& one) {
  const bool narrow = one.precision == "bf16";
  const ParityFigures& f = one.figures;
  const std::string in = ", " + one.precision;
  return table_of({
      {"tokens" + in, std::to_string(f.tokens), {}},
      {"engine to learner, mean |difference|" + in, text_of(f.learner), narrow ? "<= 1e-3" : ""},
      {"engine to transformers" + in, text_of(f.peer), narrow ? "<= 5e-3" : "<= 1e-4"},
      {"engine to transformers in fp32" + in, text_of(f.wide_peer), ""},
      {"greedy tokens that are its likeliest" + in,
       std::to_string(f.greedy_same) + " of " + std::to_string(f.greedy), narrow ? "" : "all"},
  });
}

nlohmann::json to_json(const NamedFigures& one) {
  const ParityFigures& f = one.figures;
  const auto gap = [](const LogProbGap& g) {
    return nlohmann::json{{"mean", g.mean}, {"max", g.max}};
  };
  return {{"precision", one.precision},  {"tokens", f.tokens},
          {"learner", gap(f.learner)},   {"transformers", gap(f.peer)},
          {"greedy", f.greedy},          {"transformers_fp32", gap(f.wide_peer)},
          {"greedy_same", f.greedy_same}};
}

Result<std::vector<NamedFigures>> measure_each(const ParityArguments& args) {
  const bool gpu = args.device == "cuda";
  std::vector<NamedFigures> all;
  for (const ComputePrecision precision : {ComputePrecision::fp32, ComputePrecision::bf16}) {
    if (precision == ComputePrecision::bf16 && !gpu) continue;
    const std::string name = precision == ComputePrecision::bf16 ? "bf16" : "fp32";
    const std::string label = name + ": ";
    auto figures = measure_parity(
        {.device = gpu ? ComputeDevice::cuda : ComputeDevice::cpu,
         .precision = precision,
         .gpu = args.gpu,
         .model = args.model,
         .demonstrations = args.demonstrations,
         .tokens = args.tokens,
         .progress = [&](const std::string& what) { print_progress(label + what); }});
    if (!figures) return tl::unexpected(std::move(figures.error()));
    all.push_back({name, *figures});
  }
  return all;
}

ExitCode bench_parity(ParityArguments args) {
  if (args.model.empty()) args.model = source_folder() / "configs/policy/tiny";
  const std::filesystem::path named = args.model;
  const ScratchFolder scratch;
  if (std::filesystem::exists(named / "config.json") && !has_weights(named)) {
    print_progress("drawing random weights");
    args.model = scratch.path() / "model";
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
