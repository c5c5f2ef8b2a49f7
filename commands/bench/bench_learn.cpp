// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench learn`: tokens per second of the trainer.
#include "policy/learn/bench_learn.hpp"

#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/bench/bench_parts.hpp"
#include "commands/bench/learn_on_gpu.hpp"
#include "commands/bench/learn_on_ranks.hpp"
#include "commands/option_rules.hpp"
#include "policy/format/hf_folder.hpp"
#include "runtime/environment.hpp"

namespace warpsmith::commands {
namespace {

struct LearnArguments {
  std::string model, device = "cpu", critic = "separate";
  LongBenchOptions trajectory;  // on a GPU
  policy::LearnBenchOptions shape;
  int64_t epochs = 1, seed = 1, gpus = 1;
  int threads = 1;
  bool json = false;
};

nlohmann::json to_json(const policy::LearnBench& b, const LearnArguments& args) {
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

nlohmann::json to_json(const std::optional<policy::UpdateFigures>& f) {
  if (!f) return nullptr;
  return {{"streaming_seconds", f->streaming_seconds},
          {"gap_seconds", f->gap_seconds},
          {"gradient_seconds", f->gradient_seconds},
          {"peak_bytes", f->peak_bytes},
          {"planned_bytes", f->planned_bytes}};
}

nlohmann::json to_json(const LongBenchFigures& f, const LongBenchOptions& options) {
  nlohmann::json out{{"parameters", f.parameters},
                     {"tokens", options.tokens},
                     {"seconds", f.pass.seconds},
                     {"peak_bytes", f.pass.peak_bytes}};
  out["peer_seconds"] = f.peer ? nlohmann::json(f.peer->seconds) : nullptr;
  out["peer_peak_bytes"] = f.peer ? nlohmann::json(f.peer->peak_bytes) : nullptr;
  out["update_streamed"] = to_json(f.streamed);
  out["update_at_use"] = to_json(f.at_use);
  return out;
}

std::string gib(int64_t bytes) {
  return fixed(static_cast<double>(bytes) / (1 << 30), 1);
}

void add_update(const std::string& how, const policy::UpdateFigures& f,
                std::vector<BenchRow>& rows) {
  rows.push_back({"last segment to gradient pass, " + how, fixed(f.gap_seconds, 3) + " s",
                  how == "streamed" ? "<= 0.2 s" : ""});
  rows.push_back({"gradient pass to new weights, " + how, fixed(f.gradient_seconds, 1) + " s", {}});
  rows.push_back({"earlier segments, " + how, fixed(f.streaming_seconds, 1) + " s", {}});
  rows.push_back({"peak of policy and critic, " + how, gib(f.peak_bytes) + " GiB",
                  "within 10 % of " + gib(f.planned_bytes)});
}

std::string to_text(const LongBenchFigures& f, const LongBenchOptions& options) {
  const std::string pass = "forward and backward of " + std::to_string(options.tokens) + " tokens";
  std::string seconds = fixed(f.pass.seconds, 2) + " s";
  std::string peak = gib(f.pass.peak_bytes) + " GiB";
  if (f.peer) {
    seconds += " against " + fixed(f.peer->seconds, 2) + ": " +
               fixed(f.peer->seconds / f.pass.seconds, 2) + "x";
    peak += " against " + gib(f.peer->peak_bytes);
  }
  std::vector<BenchRow> rows{{"parameters of the policy", std::to_string(f.parameters), {}},
                             {pass, seconds, f.peer ? "not slower" : ""},
                             {"peak of that pass", peak, "<= 60 GiB"}};
  if (f.streamed) add_update("streamed", *f.streamed, rows);
  if (f.at_use) add_update("at_use", *f.at_use, rows);
  return table_of(rows);
}

/// The model folder, or the default of the device.
std::filesystem::path model_folder(const LearnArguments& args) {
  if (!args.model.empty()) return args.model;
  return source_folder() /
         (args.device == "cuda" ? "configs/policy/qwen3-1.7b-shape" : "configs/policy/tiny");
}

ExitCode bench_on_gpu(LearnArguments args) {
  LongBenchOptions& options = args.trajectory;
  options.model = model_folder(args);
  options.seed = static_cast<uint64_t>(args.seed);
  options.critic = args.critic == "shared" ? CriticKind::shared : CriticKind::separate;
  const auto figures = measure_long(options);
  if (!figures) return report(figures.error());
  std::cout << (args.json ? to_json(*figures, options).dump() + '\n' : to_text(*figures, options));
  return ExitCode::success;
}

ExitCode bench_on_ranks(const LearnArguments& args) {
  RanksBenchOptions options{.model = model_folder(args), .seed = static_cast<uint64_t>(args.seed)};
  LearnerConfig& learner = options.learner;
  learner.gpus = args.gpus;
  learner.threads = args.threads;
  learner.critic.kind = args.critic == "shared" ? CriticKind::shared : CriticKind::separate;
  options.shape.steps = args.shape.steps;
  options.shape.trajectories = args.shape.trajectories;
  if (args.device == "cuda") {
    learner.device = ComputeDevice::cuda;
    learner.gpu = args.trajectory.gpu;
    options.shape.tokens = args.trajectory.tokens;
  } else {
    const policy::LearnBenchOptions& s = args.shape;
    options.shape.tokens = s.prompt_tokens + s.turns * (s.action_tokens + s.result_tokens);
  }
  const auto figures = measure_ranks(options);
  if (!figures) return report(figures.error());
  std::cout << (args.json ? json_of(*figures, options) : text_of(*figures, options)) << std::flush;
  return ExitCode::success;
}

ExitCode bench_learn(const LearnArguments& args) {
  if (args.gpus > 1) return bench_on_ranks(args);
  if (args.device == "cuda") return bench_on_gpu(args);
  auto model = policy::load_hf_model(model_folder(args));
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

/// Adds: none of `options` has an effect without `other`.
void require(std::vector<OptionRule>& rules, const std::vector<std::string>& options,
             const std::string& other, const std::string& remedy) {
  for (const std::string& option : options) {
    rules.push_back({option, OptionRule::Kind::needs, {other}, remedy});
  }
}

/// Which options have an effect depends on the device and on the number of ranks.
std::vector<OptionRule> learn_rules(const LearnArguments& args) {
  std::vector<OptionRule> rules;
  const bool gpu = args.device == "cuda";
  if (gpu) {
    require(rules, {"--turns", "--action-tokens", "--epochs", "--threads"}, "--device cpu",
            "on a GPU a trajectory has --tokens in 128 turns, and is used once");
  } else {
    require(rules, {"--gpu", "--tokens", "--update", "--offload", "--no-peer"}, "--device cuda",
            "it belongs to the long trajectory on a GPU");
  }
  if (args.gpus > 1) {
    rules.push_back({"--gpus",
                     OptionRule::Kind::refuses,
                     {"--update", "--offload", "--no-peer", "--epochs"},
                     "steps on one rank and on several are compared, without a peer"});
  } else if (gpu) {
    require(rules, {"--steps", "--trajectories"}, "--gpus N", "one GPU trains one trajectory");
    require(rules, {"--critic", "--offload"}, "--update", "it belongs to that update");
  } else {
    require(rules, {"--critic"}, "--gpus N", "one rank on a CPU has a shared critic");
  }
  return rules;
}

void add_gpu(CLI::App& app, LearnArguments& args) {
  LongBenchOptions& options = args.trajectory;
  app.add_option("--device", args.device, "cpu, or cuda for one long trajectory on a GPU")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--gpu", options.gpu, "Number of the GPU")
      ->capture_default_str()
      ->check(CLI::Range(0, 63));
  app.add_option("--gpus", args.gpus,
                 "Ranks: the same steps on 1 and on that many GPUs, from --gpu on, or threads of a "
                 "CPU")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app.add_option("--tokens", options.tokens, "Tokens of the trajectory on a GPU, in 128 turns")
      ->capture_default_str()
      ->check(CLI::Range(512, 1 << 24));
  app.add_flag("--update", options.update,
               "On a GPU: a whole PPO update of policy and critic, too (92 GiB for 1.7B "
               "parameters and 131,072 tokens)");
  app.add_option("--critic", args.critic,
                 "Critic of that update, or of --gpus: separate, or shared with the policy")
      ->capture_default_str()
      ->check(CLI::IsMember({"separate", "shared"}));
  app.add_flag("--offload", options.offload,
               "In that update, keep prefixes and layer inputs in host memory");
  app.add_flag("--no-peer", options.no_peer, "On a GPU: do not run transformers");
}

void add_shape(CLI::App& app, LearnArguments& args) {
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

const char* const learn_footer =
    "Made-up trajectories are trained like real ones: streamed forwards as turns arrive, values,\n"
    "advantages, gradients of policy and critic, the optimiser's step. A trained token counts\n"
    "once, however often it is used. On a GPU the figures are of one long trajectory with random\n"
    "weights: forward and backward of the policy loss in bf16, with float32 master weights, "
    "beside\n"
    "transformers with gradient checkpointing and log-probabilities in chunks. With --gpus, steps "
    "of\n"
    "--trajectories are trained on one rank and then on several, from the same start: on GPUs "
    "each\n"
    "trajectory has --tokens, and no peer runs.";

}  // namespace

Command bench_learn_part() {
  return {"learn", "Tokens per second of the trainer",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<LearnArguments>();
            app.add_option("--model", args->model,
                           "Model folder in Hugging Face layout (default: the tiny policy; on a "
                           "GPU the shape of Qwen3-1.7B)")
                ->type_name("FOLDER");
            app.add_option("--threads", args->threads, "Threads of the tensor library")
                ->capture_default_str()
                ->check(CLI::Range(1, 256));
            add_gpu(app, *args);
            add_shape(app, *args);
            app.add_flag("--json", args->json, "Print one JSON object on standard output");
            app.footer(learn_footer);
            return [args, &app] {
              const auto checked = check_options(app, learn_rules(*args));
              return checked ? bench_learn(*args) : report(checked.error());
            };
          }};
}

}  // namespace warpsmith::commands
