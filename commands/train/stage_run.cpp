// SPDX-License-Identifier: Apache-2.0
#include "commands/train/stage_run.hpp"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "actors/run/memory_budget.hpp"
#include "actors/run/model_text.hpp"
#include "actors/run/run_session.hpp"
#include "actors/run/selection.hpp"
#include "commands/train/resume_keys.hpp"
#include "policy/format/hf_folder.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

/// Fails if the learner's GPU, if it has one, is missing or too small for a stage that samples
/// nothing.
Result<void> check_fits(const RunConfig& config) {
  TRY(const auto model, policy::read_hf_config(config.model.folder));
  return check_data_gpu_here(config, data_stage_memory(config, model));
}

Result<void> check_weights(const ModelSource& c) {
  if (c.weights == InitialWeights::random) return {};
  const auto model = policy::load_hf_model(c.folder);
  return model ? Result<void>{} : tl::unexpected(model.error());
}

namespace fs = std::filesystem;

/// The file in which a run records the name and the hash of its `sft.data`.
fs::path data_record(const fs::path& run) {
  return run / "data.json";
}

tl::unexpected<Error> changed_since_start(const std::string& key, const fs::path& run,
                                          const std::string& what) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: {} has learned from what it began with: {}; resume it without this "
                          "change, or start a new run (train CONFIG)",
                          key, run.string(), what));
}

/// A file that moved is the same data.
Result<void> check_same_data(const fs::path& run, const fs::path& before, const fs::path& now) {
  const auto other = [&] {
    return changed_since_start(
        "sft.data", run,
        fmt::format(
            "expected {}, got {}", before.empty() ? "none" : before.string(),
            now.empty() ? "none" : now.string() + (now == before ? ", which has changed" : "")));
  };
  const auto record = read_text_file(data_record(run), size_t{1} << 16U);
  if (now.empty() || !record) return now == before ? Result<void>{} : other();
  const auto hash = hash_of_file(now);
  if (!hash) return {};  // reading the conversations says why
  const auto read = nlohmann::json::parse(*record, nullptr, /*allow_exceptions=*/false);
  const bool same = read.is_object() && read.value("hash", "") == *hash;
  return same ? Result<void>{} : other();
}

/// Refuses what would change the steps that the run has taken: other conversations, and another
/// seed, which decides their order and which of them are held out.
Result<void> check_unchanged(const RunConfig& now, const fs::path& run) {
  if (run.empty() || !resumed_stage(run, now.run.stage).has_checkpoint) return {};
  TRY(const auto before, config_of_run(run, {}));
  if (before.run.seed != now.run.seed) {
    return changed_since_start("run.seed", run,
                               fmt::format("expected {}, got {}", before.run.seed, now.run.seed));
  }
  if (now.run.stage != Stage::sft) return {};
  return check_same_data(run, before.sft.data, now.sft.data);
}

Result<std::string> check_data(const RunConfig& config, const StageStart& start) {
  TRY_VOID(check_unchanged(config, start.resumed_run));
  TRY_VOID(read_text_model(config));
  TRY_VOID(check_fits(config));
  TRY_VOID(check_weights(config.model));
  if (config.run.stage != Stage::sft) {
    TRY_VOID(check_sources(config));
    return config.run.stage == Stage::rft ? export_note(config.sft) : "";
  }
  const bool has_data =
      !start.resumed_run.empty() && config.sft.data.empty();  // of a script that ran
  if (has_data) return export_note(config.sft);
  TRY(const std::string data, check_demonstrations(config));
  return data + export_note(config.sft);
}

StageEnd run_kind(const RunConfig& config, const RunPlace& place, const Output& output) {
  const bool learns_only = !samples(config.run.stage);
  auto fits = learns_only ? check_fits(config) : Result<void>{};  // before data is read or written
  if (fits && learns_only) fits = check_unchanged(config, place.resume);
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

/// LibTorch adds general advice on further lines.
std::string first_line(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

std::string name_of(const RunConfig& config) {
  return "stage " + std::string{to_string(config.run.stage)};
}

Error out_of_memory(const RunConfig& config, const c10::Error& error) {
  const std::string gpu = std::to_string(config.learner.gpu);
  return {ErrorCode::capacity,
          name_of(config) + ": GPU " + gpu + " has no memory left: " + first_line(error) +
              "; end other processes on it, or " + data_stage_remedies(config) +
              ", then start the run again, or --resume it"};
}

/// What may help against an error that is not known.
std::string remedy(const RunConfig& config) {
  const bool any = samples(config.run.stage);
  const bool on_gpu = config.learner.device == ComputeDevice::cuda ||
                      (any && config.generator.device == ComputeDevice::cuda);
  if (on_gpu) {
    return "--resume continues from the last checkpoint, once `doctor` finds the device again";
  }
  if (any) return "--resume continues from the last checkpoint";
  return "if memory is short, " + data_stage_remedies(config);
}

Error failure_of(const RunConfig& config, const c10::Error& error) {
  return {ErrorCode::infrastructure,
          name_of(config) + ": " + first_line(error) + "; " + remedy(config)};
}

}  // namespace

Result<void> record_data(const fs::path& run, const fs::path& data) {
  if (resumed_stage(run, Stage::sft).has_checkpoint) return {};
  TRY(const auto hash, hash_of_file(data));
  const nlohmann::json record{{"file", data.string()}, {"hash", hash}};
  return write_file_durably(data_record(run), record.dump() + '\n');
}

Result<std::string> check_stage(RunConfig config, const StageStart& start) {
  const bool has_begun = !start.resumed_run.empty();
  if (has_begun || start.weights_pending) config.model.weights = InitialWeights::random;
  if (!samples(config.run.stage)) return check_data(config, start);
  TRY_VOID(check_training(config));
  if (has_begun) TRY_VOID(check_text({start.resumed_run}, config));
  return "";
}

StageEnd run_stage(const RunConfig& config, const RunPlace& place, const Output& output) {
  return run_reporting_torch_errors(config, [&] { return run_kind(config, place, output); });
}

StageEnd run_reporting_torch_errors(const RunConfig& config,
                                    const std::function<StageEnd()>& stage) {
  try {
    return stage();
  } catch (const c10::OutOfMemoryError& error) {
    const bool any = samples(config.run.stage);
    return failed_stage(any ? failure_of(config, error) : out_of_memory(config, error));
  } catch (const c10::Error& error) {
    return failed_stage(failure_of(config, error));
  }
}

}  // namespace warpsmith::commands
