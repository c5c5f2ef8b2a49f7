// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench decode`: tokens per second of the generator, then of `transformers`.
#include "policy/generate/cpu/bench_decode.hpp"

#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "actors/base/script.hpp"
#include "actors/commands/bench/bench_parts.hpp"
#include "policy/format/hf_folder.hpp"
#include "runtime/environment.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string model;
  std::vector<int64_t> batches{1, 16};
  int64_t prompt_tokens = 64, new_tokens = 192;
  bool no_peer = false, json = false;
};

/// The figures of one batch size; the peer's are empty with --no-peer.
struct Figures {
  policy::DecodeBenchReport own;
  std::optional<double> peer_prefill, peer_decode;  // tokens per second
};

constexpr const char* prefill_name = "prefill_tokens_per_second";
constexpr const char* decode_name = "decode_tokens_per_second";

Result<std::map<std::string, double>> run_peer(const fs::path& folder, int64_t batch,
                                               const Arguments& args) {
  const std::string script = "scripts/bench_decode_peer.py";
  const auto output = run_script(
      source_folder() / script,
      {folder.string(), "--batch", std::to_string(batch), "--prompt-tokens",
       std::to_string(args.prompt_tokens), "--new-tokens", std::to_string(args.new_tokens)},
      std::chrono::minutes{30});
  if (!output) return tl::unexpected(output.error());
  return numbers_of(script, *output, {prefill_name, decode_name});
}

Result<Figures> measure(const policy::Transformer& model, const fs::path& folder, int64_t batch,
                        const Arguments& args) {
  const policy::DecodeBenchOptions options{
      .batch = batch, .prompt_tokens = args.prompt_tokens, .new_tokens = args.new_tokens};
  auto own = policy::bench_decode(model, options);
  if (!own) return tl::unexpected(std::move(own.error()));
  Figures figures{.own = *own};
  if (args.no_peer) return figures;
  const auto peer = run_peer(folder, batch, args);
  if (!peer) return tl::unexpected(peer.error());
  figures.peer_prefill = peer->at(prefill_name);
  figures.peer_decode = peer->at(decode_name);
  return figures;
}

nlohmann::json to_json(const Figures& f) {
  nlohmann::json out{{"batch", f.own.batch},
                     {"decode_tokens_per_s", f.own.decode_tokens_per_second},
                     {"prefill_tokens_per_s", f.own.prefill_tokens_per_second}};
  out["peer_decode_tokens_per_s"] = nullable(f.peer_decode);
  out["peer_prefill_tokens_per_s"] = nullable(f.peer_prefill);
  out["decode_ratio"] =
      f.peer_decode ? nlohmann::json(f.own.decode_tokens_per_second / *f.peer_decode) : nullptr;
  return out;
}

std::string beside(double own, const std::optional<double>& peer) {
  if (!peer) return fixed(own, 0);
  return fixed(own, 0) + " against " + fixed(*peer, 0) + ": " + fixed(own / *peer, 2) + "x";
}

std::string to_text(const std::vector<Figures>& all) {
  std::vector<BenchRow> rows;
  for (const Figures& f : all) {
    const std::string batch = ", batch " + std::to_string(f.own.batch);
    rows.push_back({"decoded tokens per second" + batch,
                    beside(f.own.decode_tokens_per_second, f.peer_decode),
                    {}});
    rows.push_back({"prefilled tokens per second" + batch,
                    beside(f.own.prefill_tokens_per_second, f.peer_prefill),
                    {}});
  }
  return table_of(rows);
}

ExitCode bench_decode(const Arguments& args) {
  const fs::path folder =
      args.model.empty() ? source_folder() / "configs/policy/tiny" : fs::path{args.model};
  const auto model = policy::load_hf_model(folder);
  if (!model) return report(model.error());
  at::set_num_threads(1);  // as the peer does
  std::vector<Figures> all;
  for (const int64_t batch : args.batches) {
    auto figures = measure(*model, folder, batch, args);
    if (!figures) return report(figures.error());
    all.push_back(*figures);
  }
  if (!args.json) {
    std::cout << to_text(all);
    return ExitCode::success;
  }
  nlohmann::json out{{"model", folder.string()}, {"batches", nlohmann::json::array()}};
  for (const Figures& f : all) out["batches"].push_back(to_json(f));
  std::cout << out.dump() << '\n';
  return ExitCode::success;
}

const char* const footer =
    "Both run on one thread in float32, with random prompts of the same length, temperature 1 and\n"
    "no stop tokens. The peer is `generate` of transformers in the program's Python environment.";

}  // namespace

Command bench_decode_part() {
  return {"decode", "Tokens per second of the generator beside transformers",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<Arguments>();
            app.add_option("--model", args->model,
                           "Model folder in Hugging Face layout (default: the tiny policy)")
                ->type_name("FOLDER");
            app.add_option("--batch", args->batches,
                           "Sequences decoded together; several sizes separated by commas")
                ->capture_default_str()
                ->delimiter(',')
                ->check(CLI::Range(1, 4096));
            app.add_option("--prompt-tokens", args->prompt_tokens, "Prompt tokens per sequence")
                ->capture_default_str()
                ->check(CLI::Range(1, 1'000'000));
            app.add_option("--new-tokens", args->new_tokens, "Sampled tokens per sequence")
                ->capture_default_str()
                ->check(CLI::Range(2, 1'000'000));
            app.add_flag("--no-peer", args->no_peer, "Do not run transformers");
            app.add_flag("--json", args->json, "Print one JSON object on standard output");
            app.footer(footer);
            return [args] { return bench_decode(*args); };
          }};
}

}  // namespace warpsmith::actors
