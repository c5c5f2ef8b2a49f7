// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench learn`: tokens per second of the trainer.
#include "policy/learn/bench_learn.hpp"

#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "actors/commands/bench/bench_parts.hpp"
#include "policy/format/hf_folder.hpp"
#include "runtime/environment.hpp"

namespace warpsmith::actors {
namespace {

struct Arguments {
  std::string model;
  policy::LearnBenchOptions shape;
  int64_t epochs = 1, seed = 1;
  int threads = 1;
  bool json = false;
};

nlohmann::json to_json(const policy::LearnBench& b, const Arguments& args) {
  return {{"parameters", b.parameters},
          {"seconds", b.seconds},
          {"observe_seconds", b.observe_seconds},
          {"trained_tokens_per_s", b.trained_tokens_per_s},
          {"passes_tokens_per_s", b.passes_tokens_per_s},
          {"gflops", b.gflops},
          {"steps", args.shape.steps},
          {"trajectories", args.shape.trajectories},
          {"epochs", args.epochs},
          {"threads", args.threads}};
}

std::string to_text(const policy::LearnBench& b) {
  return table_of({{"parameters of the policy", std::to_string(b.parameters), {}},
                   {"trained tokens per second", fixed(b.trained_tokens_per_s, 0), {}},
                   {"tokens of all passes per second", fixed(b.passes_tokens_per_s, 0), {}},
                   {"arithmetic", fixed(b.gflops, 1) + " GFLOP/s", {}},
                   {"streamed forwards", fixed(100 * b.observe_seconds / b.seconds, 0) + " %", {}},
                   {"measured", fixed(b.seconds, 1) + " s", {}}});
}

ExitCode bench_learn(const Arguments& args) {
  const auto folder = args.model.empty() ? source_folder() / "configs/policy/tiny"
                                         : std::filesystem::path{args.model};
  auto model = policy::load_hf_model(folder);
  if (!model) return report(model.error());
  at::set_num_threads(args.threads);
  policy::TrainerSetup setup;
  setup.seed = static_cast<uint64_t>(args.seed);
  setup.learner.step.trajectories = args.shape.trajectories;
  setup.learner.step.epochs = args.epochs;
  policy::Trainer trainer{setup, model->config(), model->weights().clone()};
  const auto figures = policy::bench_learn(trainer, args.shape, setup.seed);
  std::cout << (args.json ? to_json(figures, args).dump() + '\n' : to_text(figures));
  return ExitCode::success;
}

void add_shape(CLI::App& app, Arguments& args) {
  const auto at_least_one = CLI::Range(int64_t{1}, int64_t{1} << 40U);
  const auto number = [&](const char* name, int64_t& value, const char* about) {
    app.add_option(name, value, about)->capture_default_str()->check(at_least_one);
  };
  number("--steps", args.shape.steps, "Measured steps, after one to warm up");
  number("--trajectories", args.shape.trajectories, "Trajectories per step");
  number("--turns", args.shape.turns, "Turns per trajectory");
  number("--action-tokens", args.shape.action_tokens, "Sampled tokens per turn");
  number("--epochs", args.epochs, "Uses of each trajectory");
}

const char* const footer =
    "Made-up trajectories are trained like real ones: streamed forwards as turns arrive, values,\n"
    "advantages, gradients of policy and critic, the optimiser's step. A trained token counts\n"
    "once, however often it is used.";

}  // namespace

Command bench_learn_part() {
  return {"learn", "Tokens per second of the trainer",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<Arguments>();
            app.add_option("--model", args->model,
                           "Model folder in Hugging Face layout (default: the tiny policy)")
                ->type_name("FOLDER");
            app.add_option("--threads", args->threads, "Threads of the tensor library")
                ->capture_default_str()
                ->check(CLI::Range(1, 256));
            add_shape(app, *args);
            app.add_flag("--json", args->json, "Print one JSON object on standard output");
            app.footer(footer);
            return [args] { return bench_learn(*args); };
          }};
}

}  // namespace warpsmith::actors
