// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench learn`: tokens per second of the trainer on a CPU, one long trajectory on a GPU
// compared with `transformers`, or the same steps on one rank and on several.
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "actors/base/script.hpp"
#include "commands/bench/bench.hpp"
#include "commands/options.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/learn/bench_learn.hpp"
#include "policy/learn/memory_plan.hpp"
#include "policy/learn/placement.hpp"
#include "policy/model/libtorch_runtime.hpp"
#include "policy/model/weights.hpp"
#include "runtime/environment.hpp"
#include "runtime/result.hpp"
#include "runtime/text.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

/// One long trajectory on a GPU: its gradient pass compared with transformers, and a whole PPO
/// update.
struct LongBenchOptions {
  std::filesystem::path model;  // a folder in Hugging Face layout; its weights are not read
  int gpu = 0;
  int64_t tokens = 131'072;
  int64_t turns = 128;
  bool update = false;                       // measure a whole update, too
  CriticKind critic = CriticKind::separate;  // of that update
  bool offload = false;                      // its kept prefixes and layer inputs go to the host
  bool no_peer = false;                      // do not run transformers
  uint64_t seed = 1;
};

struct LongBenchFigures {
  int64_t parameters = 0;
  policy::PassFigures pass;                               // the second of two
  std::optional<policy::PassFigures> peer;                // likewise
  std::optional<policy::UpdateFigures> streamed, at_use;  // with --update
};

LearnerConfig on_gpu(const LongBenchOptions& options) {
  LearnerConfig config;
  config.device = ComputeDevice::cuda;
  config.gpu = options.gpu;
  return config;
}

policy::PassFigures measure_pass(const LongBenchOptions& options,
                                 const policy::ModelConfig& config) {
  const policy::Placement place = policy::placement_of(on_gpu(options));
  policy::Transformer model{
      config,
      policy::random_weights_on(config, options.gpu).converted(at::TensorOptions(at::kFloat)),
      place.compute};
  model.weights().require_grad();
  (void)policy::bench_pass(model, options.tokens, options.seed);  // loads and plans kernels
  return policy::bench_pass(model, options.tokens, options.seed);
}

policy::UpdateFigures measure_update(const LongBenchOptions& options,
                                     const policy::ModelConfig& config, ForwardMode forwards) {
  policy::TrainerSetup setup;
  setup.seed = options.seed;
  setup.learner = on_gpu(options);
  setup.learner.forwards = forwards;
  setup.learner.critic.kind = options.critic;
  setup.learner.step.trajectories = 1;
  setup.learner.max_held_bytes = options.offload ? 1 : int64_t{1} << 40U;
  setup.learner.max_offloaded_bytes = int64_t{1} << 40U;
  if (options.offload) setup.learner.offload = {"kept_prefixes", "layer_inputs"};
  policy::Trainer trainer{setup, config, policy::random_weights_on(config, options.gpu)};
  policy::UpdateFigures figures = policy::bench_update(
      trainer, {.tokens = options.tokens, .turns = options.turns}, options.seed);
  // Its prefix is gone before its gradient pass begins, and there is no other trajectory.
  const policy::TrajectoryBounds bounds{.longest = options.tokens, .concurrent = 0};
  figures.planned_bytes = policy::plan_learner_memory(config, setup.learner, bounds).total();
  return figures;
}

Result<policy::PassFigures> run_peer(const LongBenchOptions& options) {
  const std::string script = "scripts/bench_learn_peer.py";
  const auto output =
      run_script(source_folder() / script,
                 {options.model.string(), "--tokens", std::to_string(options.tokens), "--device",
                  fmt::format("cuda:{}", options.gpu), "--seed", std::to_string(options.seed)},
                 std::chrono::minutes{30});
  if (!output) return tl::unexpected(output.error());
  TRY(const auto numbers, numbers_of(script, *output, {"seconds", "peak_bytes"}));
  return policy::PassFigures{numbers.at("seconds"), static_cast<int64_t>(numbers.at("peak_bytes"))};
}

Result<LongBenchFigures> measure_long(const LongBenchOptions& options) {
  TRY_VOID(policy::check_placement(on_gpu(options)));
  TRY(const auto config, policy::read_hf_config(options.model));
  LongBenchFigures figures{.parameters = config.parameter_count()};
  try {
    figures.pass = measure_pass(options, config);
    if (options.update) {
      figures.streamed = measure_update(options, config, ForwardMode::streamed);
      figures.at_use = measure_update(options, config, ForwardMode::at_use);
    }
  } catch (const c10::OutOfMemoryError& error) {
    return fail(ErrorCode::capacity,
                "bench learn: lower --tokens, leave out --update, or use "
                "--critic shared: " +
                    std::string(error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    return fail(ErrorCode::infrastructure,
                std::string("bench learn on a GPU: ") + error.what_without_backtrace());
  }
  policy::release_unused_memory(at::kCUDA);  // the peer is another process
  if (options.no_peer) return figures;
  TRY(auto peer, run_peer(options));
  figures.peer = peer;
  return figures;
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

void add_update(const std::string& how, const policy::UpdateFigures& f,
                std::vector<BenchRow>& rows) {
  rows.push_back({"last segment to gradient pass, " + how, fmt::format("{:.3f} s", f.gap_seconds),
                  how == "streamed" ? "<= 0.2 s" : ""});
  rows.push_back(
      {"gradient pass to new weights, " + how, fmt::format("{:.1f} s", f.gradient_seconds), {}});
  rows.push_back({"earlier segments, " + how, fmt::format("{:.1f} s", f.streaming_seconds), {}});
  rows.push_back({"peak of policy and critic, " + how, size_text(f.peak_bytes),
                  "within 10 % of " + size_text(f.planned_bytes)});
}

std::string to_text(const LongBenchFigures& f, const LongBenchOptions& options) {
  const std::string pass = fmt::format("forward and backward of {} tokens", options.tokens);
  std::string seconds = fmt::format("{:.2f} s", f.pass.seconds);
  std::string peak = size_text(f.pass.peak_bytes);
  if (f.peer) {
    seconds +=
        fmt::format(" against {:.2f}: {:.2f}x", f.peer->seconds, f.peer->seconds / f.pass.seconds);
    peak += " against " + size_text(f.peer->peak_bytes);
  }
  std::vector<BenchRow> rows{{"parameters of the policy", std::to_string(f.parameters), {}},
                             {pass, seconds, f.peer ? "not slower" : ""},
                             {"peak of that pass", peak, "<= 60 GiB"}};
  if (f.streamed) add_update("streamed", *f.streamed, rows);
  if (f.at_use) add_update("at_use", *f.at_use, rows);
  return table_of(rows);
}

/// The largest relative difference.
double largest_gap(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double larger = std::max({std::abs(a[i]), std::abs(b[i]), 1e-12});
    most = std::max(most, std::abs(a[i] - b[i]) / larger);
  }
  return most;
}

/// The same steps on one rank of a learner and on several.
struct RanksBenchOptions {
  std::filesystem::path
      model;              // a folder in Hugging Face layout; on a GPU its weights are not read
  LearnerConfig learner;  // device, gpu, critic, threads; `gpus` is the number of ranks
  policy::RanksShape shape;
  uint64_t seed = 1;
};

struct RanksBenchFigures {
  int64_t parameters = 0;
  policy::RanksFigures one, several;

  double speedup() const { return several.tokens_per_s / one.tokens_per_s; }
  /// The largest difference between losses of the same step, relative to the larger loss.
  double loss_gap() const {
    return std::max(largest_gap(one.policy_losses, several.policy_losses),
                    largest_gap(one.value_losses, several.value_losses));
  }
};

/// On the host, so that it takes no memory of a GPU.
Result<policy::Transformer> model_of(const RanksBenchOptions& options) {
  if (options.learner.device == ComputeDevice::cpu) return policy::load_hf_model(options.model);
  TRY(const auto config, policy::read_hf_config(options.model));
  const auto gpu = static_cast<int>(options.learner.gpu);
  return policy::Transformer{config, policy::random_weights_on(config, gpu).copy_on(at::kCPU)};
}

policy::RanksFigures measure(const RanksBenchOptions& options, const policy::Transformer& model,
                             int64_t ranks) {
  policy::TrainerSetup setup;
  setup.seed = options.seed;
  setup.learner = policy::ranks_config(options.learner, options.shape);
  setup.learner.gpus = ranks;
  policy::Trainer trainer{setup, model.config(), model.weights().clone()};
  return policy::bench_ranks(trainer, setup.learner, options.shape, options.seed);
}

nlohmann::json to_json(const policy::RanksFigures& f) {
  return {{"seconds", f.seconds},
          {"tokens_per_s", f.tokens_per_s},
          {"policy_losses", f.policy_losses},
          {"value_losses", f.value_losses},
          {"peak_bytes", f.peak_bytes}};
}

Result<RanksBenchFigures> measure_ranks(const RanksBenchOptions& options) {
  TRY_VOID(policy::check_placement(options.learner));
  policy::use_threads(static_cast<int>(options.learner.threads));
  const bool gpu = options.learner.device == ComputeDevice::cuda;
  RanksBenchFigures figures;
  try {
    TRY(const auto model, model_of(options));
    figures.parameters = model.config().parameter_count();
    if (gpu) policy::release_unused_memory(at::kCUDA);
    figures.one = measure(options, model, 1);
    if (gpu) policy::release_unused_memory(at::kCUDA);
    figures.several = measure(options, model, options.learner.gpus);
  } catch (const c10::Error& error) {
    return fail(ErrorCode::infrastructure,
                std::string("bench learn: ") + error.what_without_backtrace());
  } catch (const std::runtime_error& error) {
    return fail(ErrorCode::infrastructure, std::string("bench ") + error.what());
  }
  return figures;
}

std::string json_of(const RanksBenchFigures& f, const RanksBenchOptions& options) {
  const nlohmann::json all{
      {"parameters", f.parameters},     {"ranks", options.learner.gpus},
      {"tokens", options.shape.tokens}, {"trajectories", options.shape.trajectories},
      {"one", to_json(f.one)},          {"several", to_json(f.several)},
      {"speedup", f.speedup()},         {"loss_gap", f.loss_gap()}};
  return all.dump() + '\n';
}

std::string text_of(const RanksBenchFigures& f, const RanksBenchOptions& options) {
  const bool gpu = options.learner.device == ComputeDevice::cuda;
  const std::string shape =
      fmt::format("{} trajectories of {} tokens", options.shape.trajectories, options.shape.tokens);
  std::vector<BenchRow> rows{
      {"parameters of the policy", std::to_string(f.parameters), {}},
      {"a step", shape, {}},
      {"tokens per second, 1 rank", number_text(f.one.tokens_per_s, 0), {}},
      {fmt::format("tokens per second, {} ranks", options.learner.gpus),
       fmt::format("{:.0f}: {:.2f}x", f.several.tokens_per_s, f.speedup()),
       gpu && options.learner.gpus == 2 ? ">= 1.7x" : ""},
      {"largest relative difference of losses", fmt::format("{:.2g}", f.loss_gap()), {}}};
  if (gpu) {
    rows.push_back({"peak of a GPU, 1 rank", size_text(f.one.peak_bytes), {}});
    rows.push_back({"peak of a GPU, several ranks", size_text(f.several.peak_bytes), {}});
  }
  return table_of(rows);
}

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
                   {"trained tokens per second", number_text(b.trained_tokens_per_s, 0), {}},
                   {"tokens of all passes per second", number_text(b.passes_tokens_per_s, 0), {}},
                   {"arithmetic", fmt::format("{:.1f} GFLOP/s", b.gflops), {}},
                   {"streamed forwards", percent_text(b.observe_seconds / b.seconds), {}},
                   {"measured", fmt::format("{:.1f} s", b.seconds), {}}});
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

/// Adds a rule: `options` have no effect without `other`.
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
    "next to\n"
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
