// SPDX-License-Identifier: Apache-2.0
#include "commands/train/supervised_run.hpp"

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "policy/format/hf_folder.hpp"
#include "runtime/json_text.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

class Supervised final : public DataStage {
 public:
  /// `text_from`: the folder whose tokenizer a checkpoint copies.
  Supervised(policy::SftStage stage, fs::path text_from)
      : stage_(std::move(stage)), text_from_(std::move(text_from)) {}

  const policy::SftStage& stage() const { return stage_; }
  bool done() const override { return stage_.done(); }
  int64_t step_number() const override { return stage_.step_number(); }
  int64_t steps() const override { return stage_.steps(); }
  DataStep step() override {
    const policy::SftReport report = stage_.step();
    std::ostringstream text;
    text << "loss " << report.loss << " lr " << report.learning_rate;
    return {text.str(),
            {{"loss", report.loss},
             {"learning_rate", report.learning_rate},
             {"gradient_norm", report.gradient_norm}},
            !std::isfinite(report.gradient_norm)};
  }
  Result<void> save(const fs::path& folder) const override {
    auto saved = stage_.save(folder);
    return saved ? policy::copy_other_files(text_from_, folder) : saved;
  }
  Result<void> restore(const fs::path& folder) override { return stage_.restore(folder); }

 private:
  policy::SftStage stage_;
  fs::path text_from_;
};

Result<void> save_model(const policy::SftStage& stage, const RunConfig& config,
                        const fs::path& to) {
  return replace_files(to, [&](const fs::path& folder) {
    return policy::export_hf_model(folder, stage.model(), config.model.folder);
  });
}

Result<void> export_model(const policy::SftStage& stage, const DataRun& run,
                          const RunPaths& paths) {
  const fs::path& to = run.config.sft.export_to;
  if (stage.done()) return to.empty() ? Result<void>{} : save_model(stage, run.config, to);
  print_stopped(
      run, paths,
      "after step " + std::to_string(stage.step_number()) + " of " + std::to_string(stage.steps()));
  return {};
}

void print_result(const policy::SftStage& stage, const fs::path& model, const Output& output,
                  const std::optional<double>& held_out) {
  std::cerr << "model in " << model.string() << ", held-out loss "
            << (held_out ? std::to_string(*held_out) : "not measured") << ", " << stage.left_out()
            << " conversations left out\n";
  if (!output.json) return;
  nlohmann::json out{{"model", model.string()}, {"steps", stage.step_number()}};
  out["held_out_loss"] = nullable(held_out);
  std::cout << out.dump() << '\n';
}

}  // namespace

StageEnd run_supervised(policy::SftStage stage, const DataRun& run, const RunFolder& folder) {
  Supervised supervised{std::move(stage), run.config.model.folder};
  const RunPaths& paths = folder.paths();
  const fs::path model = paths.folder / "model";
  auto kept = run_data_stage(supervised, run, folder);
  if (kept) kept = save_model(supervised.stage(), run.config, model);
  if (kept) kept = export_model(supervised.stage(), run, paths);
  if (!kept) return failed_stage(kept.error());
  const auto held_out = supervised.stage().held_out_loss();
  print_result(supervised.stage(), model, run.output, held_out);
  StageEnd end{ExitCode::success, supervised.done(), run.signals.arrived(), paths.folder};
  end.figures["steps"] = static_cast<double>(supervised.step_number());
  if (held_out) end.figures["held_out_loss"] = *held_out;
  return end;
}

}  // namespace warpsmith::commands
