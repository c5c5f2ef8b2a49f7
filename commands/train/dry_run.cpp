// SPDX-License-Identifier: Apache-2.0
#include "commands/train/dry_run.hpp"

#include <cmath>
#include <iomanip>
#include <iostream>

#include "actors/run/data_memory.hpp"
#include "actors/run/memory_budget.hpp"
#include "actors/run/run_inputs.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "policy/format/hf_folder.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

constexpr double mebibyte = 1024.0 * 1024.0;

double in_mib(int64_t bytes) {
  return static_cast<double>(bytes) / mebibyte;
}

void line(const std::string& name, int64_t count, const std::string& about) {
  std::cout << "  " << std::left << std::setw(14) << name << " x" << std::setw(3) << count << ' '
            << about << '\n';
}

std::string mib(double value) {
  return std::to_string(std::llround(value)) + " MiB";
}

/// The cores or GPUs of the slots.
std::string place_text(const SandboxConfig& c) {
  if (!uses_gpus(c)) return "the first on core " + std::to_string(core_of(c, 0));
  std::string gpus = "on GPU " + std::to_string(c.first_gpu);
  if (c.gpus > 1) gpus += " to " + std::to_string(c.first_gpu + c.gpus - 1);
  return gpus + (c.count > c.gpus ? ", shared in turns" : "");
}

std::string learner_text(const LearnerConfig& c, const policy::LearnerMemory& plan) {
  const std::string all = mib(in_mib(plan.total()));
  const std::string ranks = c.gpus > 1 ? " on each of " + std::to_string(c.gpus) + " ranks" : "";
  if (c.device == ComputeDevice::cpu) return all + ranks + " plus the trajectories it holds";
  const std::string gpus = c.gpus > 1 ? " of each of GPU " + std::to_string(c.gpu) + " to " +
                                            std::to_string(c.gpu + c.gpus - 1)
                                      : " of GPU " + std::to_string(c.gpu);
  return all + gpus + " (parameters with their state " + mib(in_mib(plan.parameters)) +
         ", published " + mib(in_mib(plan.published)) + ", kept prefixes " +
         mib(in_mib(plan.kept)) + ", activations " + mib(in_mib(plan.activations)) + ")" +
         (plan.host > 0 ? " and " + mib(in_mib(plan.host)) + " of pinned host memory" : "");
}

std::string brain_text(const BrainConfig& c) {
  if (!c.candidates.empty()) return "solutions of " + c.candidates.string();
  return c.model + " at " + c.url + ", " + std::to_string(c.concurrency) + " requests at once";
}

/// What writes candidates, unless rules do.
std::string writer_text(const SynthesisConfig& c) {
  if (c.compose.composer == ComposerKind::rules) return "";
  if (c.compose.url.empty()) return ", written by the policy";
  return ", written by " + c.compose.model + " at " + c.compose.url;
}

void print_tree(const RunConfig& c, const MemoryBudget& memory, size_t tasks) {
  std::cout << "supervisor\n";
  line("telemetry", 1, "figures of all other actors");
  line("weight_store", 1, mib(in_mib(memory.learner.published)) + " per version");
  line("ledger", 1, "run database and segments, own thread");
  line("sandbox", c.sandbox.count, "contract " + c.sandbox.contract + ", " + place_text(c.sandbox));
  line("synthesis", 1, std::to_string(tasks) + " tasks");
  if (c.synthesis.composers() > 0) {
    const size_t away = c.synthesis.compose.nodes.size();
    line("composer", c.synthesis.composers(),
         "of " + std::to_string(c.synthesis.compose.candidates) + " candidates for further tasks" +
             writer_text(c.synthesis) +
             (away > 0 ? ", " + std::to_string(away) + " on other nodes" : ""));
  }
  const bool learns = learns_online(c.run.stage);
  if (learns) {
    line("learner", 1,
         learner_text(c.learner, memory.learner) + ", own thread, " +
             (c.run.mode == Mode::sync ? "a barrier after each step" : "no barrier"));
  }
  const bool brain = has_brain(c.brain);
  const bool gpu = !brain && c.generator.device == ComputeDevice::cuda;
  if (brain) {
    line("brain", 1, brain_text(c.brain) + ", own thread");
  } else {
    line("generator", c.generator.count,
         mib(in_mib(memory.generator)) +
             (gpu ? " each of GPU " + std::to_string(c.generator.gpu) : " each") + ", own thread");
  }
  line("tool_executor", c.tool_executor.count, "own thread each");
  line("rollout", c.rollout.count, std::to_string(c.rollout.concurrent) + " trajectories each");
  const int64_t learner = learns ? memory.learner.host : 0;
  const bool learns_here = learns && c.learner.device != ComputeDevice::cuda;
  const int64_t total = learner + (learns_here ? memory.learner.total() * c.learner.gpus : 0) +
                        (gpu || brain ? 0 : memory.generator * c.generator.count);
  std::cout << "expected memory: " << mib(in_mib(total))
            << " of tensors, about 400 MiB of libraries, "
            << "and about 1 GiB per sandbox for its reference worker\n";
}

/// Prints what a stage that learns from given data takes.
void print_data_stage(const RunConfig& c, const policy::ModelConfig& model,
                      const policy::DataStageMemory& plan) {
  const bool gpu = c.learner.device == ComputeDevice::cuda;
  std::cout << (c.run.stage == Stage::value ? "value pre-training" : "supervised fine-tuning")
            << " of " << model.parameter_count()
            << " parameters, without actors\nexpected memory: " << mib(in_mib(plan.total()))
            << (gpu ? " of GPU " + std::to_string(c.learner.gpu) : " of tensors")
            << " (parameters with their state " << mib(in_mib(plan.parameters))
            << ", activations of the longest pack " << mib(in_mib(plan.activations)) << ")";
  if (plan.host > 0) std::cout << ", " << mib(in_mib(plan.host)) << " of pinned host memory";
  std::cout << (gpu ? "" : ", and about 400 MiB of libraries") << std::endl;
}

Result<void> print_data(const RunConfig& config) {
  const auto model = policy::read_hf_config(config.model.folder);
  if (!model) return tl::unexpected(model.error());
  print_data_stage(config, *model, data_stage_memory(config, *model));
  return {};
}

/// A plan needs no weights, which may not be there yet.
Result<void> print_sampling(RunConfig config) {
  if (!uses_gpus(config.sandbox)) {  // print_tree names a core
    if (auto fits = check_slot_cores(config.sandbox); !fits) return fits;
  }
  config.model.weights = InitialWeights::random;
  const auto inputs = load_inputs(config, config.model.folder);
  if (!inputs) return tl::unexpected(inputs.error());
  const bool learns = learns_online(config.run.stage);
  print_tree(config, memory_budget(config, inputs->model, learns), inputs->tasks.size());
  std::cout << std::flush;
  return {};
}

}  // namespace

Result<void> print_dry_run(const RunConfig& config, const Ahead& ahead) {
  const auto printed = samples(config.run.stage) ? print_sampling(config) : print_data(config);
  // Checked last: the machine that reads a configuration is not always the one that runs it.
  return printed ? check_stage(config, ahead) : printed;
}

}  // namespace warpsmith::commands
