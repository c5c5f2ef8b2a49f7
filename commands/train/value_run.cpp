// SPDX-License-Identifier: Apache-2.0
// Stage `value` as a run: pre-trains the critic on collected trajectories.
#include "commands/train/stage_run.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "actors/sandbox/slot_cores.hpp"
#include "commands/train/data_run.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/learn/critic_folder.hpp"
#include "policy/learn/placement.hpp"
#include "policy/learn/stages/value.hpp"
#include "policy/model/libtorch_runtime.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;

class ValueTraining final : public DataStage {
 public:
  explicit ValueTraining(policy::ValueStage stage) : stage_(std::move(stage)) {}

  const policy::ValueStage& stage() const { return stage_; }
  bool done() const override { return stage_.done(); }
  int64_t step_number() const override { return stage_.step_number(); }
  int64_t steps() const override { return stage_.steps(); }
  DataStep step() override {
    const policy::ValueReport report = stage_.step();
    std::ostringstream text;
    text << "loss " << report.loss << " explained variance " << report.explained_variance
         << " (held out; best " << stage_.best_explained_variance() << ')';
    return {text.str(),
            {{"loss", report.loss},
             {"explained_variance", report.explained_variance},
             {"gradient_norm", report.gradient_norm}},
            !std::isfinite(report.gradient_norm)};
  }
  Result<void> save(const fs::path& folder) const override { return stage_.save(folder); }
  Result<void> restore(const fs::path& folder) override { return stage_.restore(folder); }

 private:
  policy::ValueStage stage_;
};

Result<policy::ActorCritic> make_networks(const RunConfig& config) {
  TRY_VOID(policy::check_placement(config.learner));
  TRY(auto model, policy::load_hf_model(config.model.folder));
  const CriticConfig& c = config.learner.critic;
  policy::ActorCritic networks{policy::placed(model.config(), model.weights(), config.learner), c,
                               config.generator.temperature};
  if (c.folder.empty()) return networks;
  TRY(const auto critic, policy::read_critic(c.folder, model.config(), c));
  policy::assign_critic(networks, critic);
  return networks;
}

Result<policy::ValueStage> make_stage(const Selection& selection, policy::ActorCritic networks,
                                      const RunConfig& config) {
  TRY(auto examples, examples_of(selection, config));
  return policy::ValueStage::make(config.value, std::move(networks), std::move(examples),
                                  static_cast<uint64_t>(config.run.seed));
}

void print_result(const policy::ValueStage& stage, const fs::path& critic, const Output& output) {
  std::cerr << "critic in " << critic.string() << ", explained variance "
            << stage.best_explained_variance() << " on held-out trajectories, " << stage.left_out()
            << " trajectories without a sampled token left out\n";
  if (!output.json) return;
  const nlohmann::json out{{"critic", critic.string()},
                           {"steps", stage.step_number()},
                           {"explained_variance", stage.best_explained_variance()}};
  std::cout << out.dump() << '\n';
}

StageEnd finish(const ValueTraining& training, const DataRun& run, const RunPaths& paths) {
  const policy::ValueStage& stage = training.stage();
  if (!stage.done()) {
    print_stopped(run, paths, fmt::format("after step {}", stage.step_number()));
    return {ExitCode::success, false, run.signals.arrived(), paths.folder};
  }
  const fs::path critic = paths.folder / "critic";
  auto kept = replace_files(critic, [&](const fs::path& to) { return stage.save_best(to); });
  if (!kept) return failed_stage(kept.error());
  print_result(stage, critic, run.output);
  StageEnd end{ExitCode::success, true, run.signals.arrived(), paths.folder};
  end.figures = {{"steps", static_cast<double>(stage.step_number())},
                 {"explained_variance", stage.best_explained_variance()}};
  return end;
}

}  // namespace

StageEnd run_value(const RunConfig& config, const RunPlace& place, const Output& output) {
  const SignalWait signals;
  const DataRun run{config, place, output, signals};
  policy::use_threads(threads_within_cores(config.learner));
  auto networks = make_networks(config);
  if (!networks) return failed_stage(networks.error());
  auto selected = select_trajectories(run, select_for_value);
  if (!selected) return failed_stage(selected.error());
  auto stage = make_stage(selected->selection, std::move(*networks), config);
  if (!stage) return failed_stage(stage.error());
  auto folder = open_selected(std::move(*selected), run, "value");
  if (!folder) return failed_stage(folder.error());
  ValueTraining training{std::move(*stage)};
  if (auto ran = run_data_stage(training, run, *folder); !ran) return failed_stage(ran.error());
  StageEnd end = finish(training, run, folder->paths());
  folder->end_as(state_after(end));
  return end;
}

}  // namespace warpsmith::commands
