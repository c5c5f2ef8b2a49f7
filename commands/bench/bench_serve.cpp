// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench serve`: tokens per second of streams over HTTP compared with the engine by
// itself.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "commands/bench/bench.hpp"
#include "commands/serve/serve_api.hpp"
#include "commands/serve/serve_load.hpp"
#include "commands/serve/served_model.hpp"
#include "policy/generate/bench_decode.hpp"
#include "runtime/environment.hpp"
#include "runtime/json_text.hpp"
#include "runtime/median.hpp"
#include "runtime/random_stream.hpp"
#include "runtime/text.hpp"

namespace warpsmith::commands {
namespace {

constexpr double serve_bar = 0.90;
constexpr int64_t gpu_tokens =
    1024;  // with 192, the start of the streams is a large part of a round

struct ServeBenchArguments {
  ServedModelOptions model{.name = "bench", .context_from = "--prompt-tokens and --new-tokens"};
  policy::DecodeBenchOptions load{.batch = 64};
  std::optional<int64_t> new_tokens;
  std::string device = "cpu";
  int gpu = 0, rounds = 3;
  bool json = false;
};

/// The figures of one round, in sampled tokens per second with prefill.
struct ServeRound {
  double engine = 0, served = 0, first_token_ms = 0;

  double ratio() const { return served / engine; }
};

Result<double> measure_engine(const ServedModel& model, const policy::DecodeBenchOptions& load) {
  TRY(const auto engine, engine_maker(model)());
  TRY(const auto report, policy::bench_decode(*engine, model.config.vocab, load));
  return report.tokens_per_second;
}

std::vector<std::vector<int32_t>> random_prompts(int64_t vocab,
                                                 const policy::DecodeBenchOptions& load) {
  std::vector<std::vector<int32_t>> prompts(static_cast<size_t>(load.batch));
  for (size_t i = 0; i < prompts.size(); ++i) {
    RandomStream random(load.seed, "bench serve", i);
    for (int64_t k = 0; k < load.prompt_tokens; ++k) {
      prompts[i].push_back(static_cast<int32_t>(random.below(static_cast<uint64_t>(vocab))));
    }
  }
  return prompts;
}

Result<ServeLoadReport> measure_served(const ServedModel& model,
                                       const policy::DecodeBenchOptions& load) {
  TRY(auto loop,
      EngineLoop::start(engine_maker(model), {.sessions = load.batch, .queue = load.batch}));
  ServeApi api(model.text, {}, *loop);
  constexpr size_t spare_threads = 4;
  const auto server =
      HttpServer::listen({.threads = static_cast<size_t>(load.batch) + spare_threads},
                         [&api](const ServedRequest& request) { return api.handle(request); });
  if (!server) return tl::unexpected(server.error());
  return run_serve_load({.port = server->port(),
                         .model = model.text.name,
                         .prompts = random_prompts(model.config.vocab, load),
                         .new_tokens = load.new_tokens});
}

/// Engines are new in each part of each round, so that no prompt is known from before.
Result<ServeRound> measure_round(const ServedModel& model, policy::DecodeBenchOptions load,
                                 int round) {
  load.seed = static_cast<uint64_t>(round);
  ServeRound figures;
  TRY(const auto engine, measure_engine(model, load));
  figures.engine = engine;
  TRY(const auto served, measure_served(model, load));
  if (served.tokens != load.batch * load.new_tokens) {
    return fail(ErrorCode::infrastructure,
                fmt::format("bench serve: expected {} tokens, got {}", load.batch * load.new_tokens,
                            served.tokens));
  }
  figures.served = static_cast<double>(served.tokens) / served.seconds;
  figures.first_token_ms = served.first_token_median * 1000;
  return figures;
}

double middle(const std::vector<ServeRound>& rounds, double (*figure)(const ServeRound&)) {
  std::vector<double> values;
  values.reserve(rounds.size());
  for (const ServeRound& round : rounds) values.push_back(figure(round));
  return median(values);
}

void print(const ServeBenchArguments& args, const std::vector<ServeRound>& rounds) {
  const double ratio = middle(rounds, [](const ServeRound& r) { return r.ratio(); });
  const double engine = middle(rounds, [](const ServeRound& r) { return r.engine; });
  const double served = middle(rounds, [](const ServeRound& r) { return r.served; });
  const double first = middle(rounds, [](const ServeRound& r) { return r.first_token_ms; });
  if (args.json) {
    std::cout << json_text(nlohmann::json{{"streams", args.load.batch},
                                          {"engine_tokens_per_s", engine},
                                          {"served_tokens_per_s", served},
                                          {"ratio", ratio},
                                          {"bar", serve_bar},
                                          {"first_token_ms", first}})
              << '\n';
    return;
  }
  const std::string streams = fmt::format(", {} streams", args.load.batch);
  std::cout << table_of(
      {{"tokens per second, engine only" + streams, number_text(engine, 0), {}},
       {"tokens per second over HTTP" + streams, number_text(served, 0), {}},
       {"share of the engine's own rate", number_text(ratio, 3), number_text(serve_bar, 2)},
       {"milliseconds to the first token", number_text(first, 1), {}}});
}

ExitCode bench_serve(ServeBenchArguments args) {
  if (args.model.folder.empty()) {
    args.model.folder = source_folder() / "configs/policy/tiny";
    args.model.chat_template = "chatml";
  }
  if (args.device == "cuda") {
    args.model.gpu = args.gpu;
    args.load.new_tokens = gpu_tokens;
  }
  args.load.new_tokens = args.new_tokens.value_or(args.load.new_tokens);
  args.model.context = args.load.prompt_tokens + args.load.new_tokens + 1;
  args.model.cache_tokens = args.load.batch * (args.model.context + policy::block_tokens);
  args.model.sessions = args.load.batch;
  const auto model = load_served_model(args.model);
  if (!model) return report(model.error());
  std::vector<ServeRound> rounds;
  for (int round = 1; round <= args.rounds; ++round) {
    auto figures = measure_round(*model, args.load, round);
    if (!figures) return report(figures.error());
    rounds.push_back(*figures);
  }
  print(args, rounds);
  return ExitCode::success;
}

}  // namespace

Command bench_serve_part() {
  return {
      "serve", "Streams over HTTP compared with the engine by itself",
      [](CLI::App& app) -> std::function<ExitCode()> {
        auto args = std::make_shared<ServeBenchArguments>();
        app.add_option("MODEL", args->model.folder,
                       "Model folder in Hugging Face layout (default: the tiny policy)")
            ->type_name("");
        app.add_option("--device", args->device, "cpu, or cuda for a GPU")
            ->capture_default_str()
            ->check(CLI::IsMember({"cpu", "cuda"}));
        app.add_option("--gpu", args->gpu, "Number of the GPU")
            ->capture_default_str()
            ->check(CLI::Range(0, 63));
        app.add_option("--streams", args->load.batch, "Streams at once")
            ->capture_default_str()
            ->check(CLI::Range(1, 1024));
        app.add_option("--prompt-tokens", args->load.prompt_tokens, "Prompt tokens per stream")
            ->capture_default_str()
            ->check(CLI::Range(1, 100'000));
        app.add_option("--new-tokens", args->new_tokens,
                       fmt::format("Sampled tokens per stream (default: {}, on a GPU {})",
                                   args->load.new_tokens, gpu_tokens))
            ->check(CLI::Range(2, 100'000));
        app.add_option("--rounds", args->rounds,
                       "Pairs of both measurements; the medians are printed")
            ->capture_default_str()
            ->check(CLI::Range(1, 100));
        app.add_flag("--json", args->json, "Print one JSON object on standard output");
        app.footer("Server and clients run in this process and share its cores with the engine.");
        return [args] { return bench_serve(*args); };
      }};
}

}  // namespace warpsmith::commands
