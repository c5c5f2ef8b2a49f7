// SPDX-License-Identifier: Apache-2.0
#include "commands/train/stage_run.hpp"

#include "commands/train/rft_run.hpp"
#include "commands/train/sft_run.hpp"
#include "commands/train/stage_failure.hpp"
#include "commands/train/train_run.hpp"
#include "commands/train/value_run.hpp"
#include "actors/run/data_memory.hpp"
#include "actors/run/model_text.hpp"
#include "actors/run/selection.hpp"
#include "policy/format/hf_folder.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

/// Whether the learner's GPU, if it has one, is there and large enough for a stage that samples
/// nothing.
Result<void> check_fits(const RunConfig& config) {
  const auto model = policy::read_hf_config(config.model.folder);
  if (!model) return tl::unexpected(model.error());
  return check_data_gpu_here(config, data_stage_memory(config, *model));
}

Result<void> check_weights(const ModelSource& c) {
  if (c.weights == InitialWeights::random) return {};
  const auto model = policy::load_hf_model(c.folder);
  return model ? Result<void>{} : tl::unexpected(model.error());
}

Result<void> check_data(const RunConfig& config, const Ahead& ahead) {
  if (const auto text = read_text_model(config); !text) return tl::unexpected(text.error());
  if (auto fits = check_fits(config); !fits) return fits;
  if (auto there = check_weights(config.model); !there) return there;
  if (config.run.stage != Stage::sft) return check_sources(config);
  const bool has_data = !ahead.begun.empty() && config.sft.data.empty();  // of a script that ran
  return has_data ? Result<void>{} : check_demonstrations(config.sft);
}

StageEnd run_kind(const RunConfig& config, const RunPlace& place, const Output& output) {
  const bool learns_only = !samples(config.run.stage);
  auto fits = learns_only ? check_fits(config) : Result<void>{};  // before data is read or written
  if (!fits) return failed_stage(fits.error());
  switch (config.run.stage) {
    case Stage::sft:
      return run_sft(config, place, output);
    case Stage::rft:
      return run_rft(config, place, output);
    case Stage::value:
      return run_value(config, place, output);
    case Stage::warmup:
    case Stage::collect:
    case Stage::agentic:
      return run_training(config, place, output);
  }
  return failed_stage({ErrorCode::invalid_config, "run.stage: unknown stage"});
}

}  // namespace

Result<void> check_stage(RunConfig config, const Ahead& ahead) {
  const bool has_begun = !ahead.begun.empty();
  if (has_begun || ahead.weights_come) config.model.weights = InitialWeights::random;
  if (!samples(config.run.stage)) return check_data(config, ahead);
  if (auto good = check_training(config); !good || !has_begun) return good;
  return check_text({ahead.begun}, config);
}

StageEnd run_stage(const RunConfig& config, const RunPlace& place, const Output& output) {
  return run_guarded(config, [&] { return run_kind(config, place, output); });
}

}  // namespace warpsmith::commands
