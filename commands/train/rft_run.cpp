// SPDX-License-Identifier: Apache-2.0
#include "commands/train/rft_run.hpp"
#include "policy/learn/placement.hpp"

#include "commands/train/selected_run.hpp"
#include "commands/train/supervised_run.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/model/threads.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

Result<policy::SftStage> make_stage(const Selection& selection, const RunConfig& config) {
  if (auto good = policy::check_placement(config.learner); !good) {
    return tl::unexpected(std::move(good.error()));
  }
  auto conversations = conversations_of(selection, config);
  if (!conversations) return tl::unexpected(std::move(conversations.error()));
  auto model = policy::load_hf_model(config.model.folder);
  if (!model) return tl::unexpected(std::move(model.error()));
  return policy::SftStage::make(config.sft,
                                policy::placed(model->config(), model->weights(), config.learner),
                                std::move(*conversations), static_cast<uint64_t>(config.run.seed));
}

}  // namespace

StageEnd run_rft(const RunConfig& config, const RunPlace& place, const Output& output) {
  const SignalWait signals;
  const DataRun run{config, place, output, signals};
  policy::use_threads(within_cores(config.learner));
  auto selected = select_trajectories(run, select_for_rft);
  if (!selected) return failed_stage(selected.error());
  auto stage = make_stage(selected->selection, config);
  if (!stage) return failed_stage(stage.error());
  const auto folder = open_selected(std::move(*selected), run, "rft");
  if (!folder) return failed_stage(folder.error());
  return run_supervised(std::move(*stage), run, *folder);
}

}  // namespace warpsmith::commands
