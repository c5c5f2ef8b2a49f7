// SPDX-License-Identifier: Apache-2.0
// Supervised fine-tuning as a run: stage `sft` on demonstrations, stage `rft` on kept trajectories.
#include "commands/train/stage_run.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "actors/base/script.hpp"
#include "actors/run/model_text.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "commands/train/data_run.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/format/tokenizer_json.hpp"
#include "policy/learn/placement.hpp"
#include "policy/learn/stages/sft.hpp"
#include "policy/model/libtorch_runtime.hpp"
#include "policy/text/demonstration_file.hpp"
#include "runtime/json_text.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;

class SupervisedTraining final : public DataStage {
 public:
  /// `text_from`: the folder whose tokenizer a checkpoint copies.
  SupervisedTraining(policy::SftStage stage, fs::path text_from)
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
  print_stopped(run, paths, fmt::format("after step {} of {}", stage.step_number(), stage.steps()));
  return {};
}

void print_result(const policy::SftStage& stage, const fs::path& model, const Output& output,
                  const std::optional<double>& held_out) {
  std::cerr << "model in " << model.string() << ", held-out loss "
            << (held_out ? std::to_string(*held_out) : "not measured") << '\n';
  if (!output.json) return;
  nlohmann::json out{{"model", model.string()}, {"steps", stage.step_number()}};
  out["held_out_loss"] = nullable(held_out);
  std::cout << out.dump() << '\n';
}

/// Fine-tunes, and saves the model into the run folder's model/ and, at the end, into
/// `sft.export_to`, in the type of the weights in model.folder; checkpoints have float32.
StageEnd run_supervised(policy::SftStage stage, const DataRun& run, RunFolder& folder) {
  SupervisedTraining supervised{std::move(stage), run.config.model.folder};
  const RunPaths& paths = folder.paths();
  const fs::path model = paths.folder / "model";
  const policy::ConversationCounts& counts = supervised.stage().counts();
  if (!supervised.done()) std::cerr << export_note(run.config.sft);
  if (!run.output.quiet || counts.left_out() > 0) {
    std::cerr << policy::counts_text(counts, run.config.sft.context) << '\n';
  }
  auto kept = run_data_stage(supervised, run, folder);
  if (kept) kept = save_model(supervised.stage(), run.config, model);
  if (kept) kept = export_model(supervised.stage(), run, paths);
  if (!kept) return failed_stage(kept.error());
  const auto held_out = supervised.stage().held_out_loss();
  print_result(supervised.stage(), model, run.output, held_out);
  StageEnd end{ExitCode::success, supervised.done(), run.signals.arrived(), paths.folder};
  end.figures["steps"] = static_cast<double>(supervised.step_number());
  if (held_out) end.figures["held_out_loss"] = *held_out;
  folder.end_as(state_after(end));
  return end;
}

Result<fs::path> write_demonstrations(const RunConfig& config, const fs::path& folder) {
  fs::path whole = folder / "demonstrations.jsonl";
  if (fs::exists(whole)) {  // this run is resumed
    std::cerr << "learns from the demonstrations that were written when the run began\n";
    return whole;
  }
  const fs::path out = folder / "demonstrations.partial.jsonl";
  std::vector<std::string> words{"--seed", std::to_string(config.run.seed), "--out", out.string(),
                                 "--tasks"};
  for (const fs::path& tasks : config.synthesis.tasks) words.push_back(tasks.string());
  words.emplace_back("--apart-from");
  for (const fs::path& tasks : config.synthesis.held_out) words.push_back(tasks.string());
  const auto& more = config.sft.arguments;
  words.insert(words.end(), more.begin(), more.end());
  std::cerr << "writing demonstrations with " << config.sft.script.string() << '\n';
  TRY_VOID(run_script(config.sft.script, words, std::chrono::minutes{30}));
  TRY_VOID(sync_path(out));
  std::error_code error;
  fs::rename(out, whole, error);
  if (error) return fail_with_errno("cannot rename to", whole, error.value());
  TRY_VOID(sync_path(folder));
  return whole;
}

policy::Conversation tokenised(const policy::Demonstration& demonstration,
                               const policy::Tokenizer& tokenizer, const policy::ChatFrame& frame) {
  policy::Conversation conversation;
  for (const policy::ChatPiece& piece : policy::chat_pieces(demonstration.messages, frame)) {
    const auto tokens = tokenizer.encode(piece.text);
    conversation.tokens.insert(conversation.tokens.end(), tokens.begin(), tokens.end());
    conversation.mask.resize(conversation.tokens.size(), piece.action ? 1 : 0);
  }
  return conversation;
}

Result<policy::Transformer> start_model(const RunConfig& config) {
  if (config.model.weights == InitialWeights::load) {
    return policy::load_hf_model(config.model.folder);
  }
  RandomStream random{static_cast<uint64_t>(config.run.seed), "weights"};
  return policy::make_hf_model(config.model.folder, random);
}

/// The model's text format, and the conversations of a file in it.
struct Lessons {
  policy::Tokenizer tokenizer;
  policy::ChatFrame frame;
  std::vector<policy::Conversation> conversations;
};

/// Fails if the model can learn from no conversation of the file.
Result<Lessons> read_lessons(const RunConfig& config, const fs::path& data) {
  TRY(const auto demonstrations, policy::read_demonstrations(data, config.agent.syntax));
  TRY(auto tokenizer, policy::read_tokenizer(config.model.folder));
  TRY(auto frame, chat_frame(config.agent, tokenizer, config.model.folder));
  std::vector<policy::Conversation> all;
  all.reserve(demonstrations.size());
  for (const auto& one : demonstrations) all.push_back(tokenised(one, tokenizer, frame));
  const int64_t context = config.sft.context;
  const auto some = policy::require_kept(policy::count_conversations(all, context), context);
  if (!some) return fail(data.string(), some.error());
  return Lessons{std::move(tokenizer), std::move(frame), std::move(all)};
}

Result<policy::SftStage> make_stage(const RunConfig& config, const fs::path& data) {
  TRY_VOID(policy::check_placement(config.learner));
  TRY(auto lessons, read_lessons(config, data));
  TRY(auto model, start_model(config));
  policy::ModelConfig shape = model.config();
  end_turns_by(lessons.frame, lessons.tokenizer, shape);
  return policy::SftStage::make(config.sft, policy::placed(shape, model.weights(), config.learner),
                                std::move(lessons.conversations),
                                static_cast<uint64_t>(config.run.seed));
}

/// True if Ctrl-C ended the script too, which is not a failure. The signal may arrive a little
/// late.
bool stopped_script(const Error& error, const SignalWait& signals) {
  constexpr std::chrono::milliseconds signal_delay{200};
  return error.code == ErrorCode::process_failed && signals.wait(signal_delay);
}

StageEnd finish_early(const DataRun& run, RunFolder& folder) {
  folder.end_as(RunState::interrupted);
  if (auto kept = keep_config(run, folder); !kept) return failed_stage(kept.error());
  const RunPaths& paths = folder.paths();
  print_stopped(run, paths, "before the first step");
  const nlohmann::json out{{"model", nullptr}, {"steps", 0}, {"held_out_loss", nullptr}};
  if (run.output.json) std::cout << out.dump() << '\n';
  return {ExitCode::success, false, true, paths.folder};
}

/// Data that cannot be learned from creates no run folder.
StageEnd run_with_data(const DataRun& run) {
  auto stage = make_stage(run.config, run.config.sft.data);
  if (!stage) return failed_stage(stage.error());
  auto folder = open_data_folder(run.config, run.place, "sft");
  if (!folder) return failed_stage(folder.error());
  const auto recorded = record_data(folder->paths().folder, run.config.sft.data);
  if (!recorded) return failed_stage(recorded.error());
  return run_supervised(std::move(*stage), run, *folder);
}

/// The script writes into the run's folder.
StageEnd run_with_script(const DataRun& run) {
  auto folder = open_data_folder(run.config, run.place, "sft");
  if (!folder) return failed_stage(folder.error());
  const auto data = write_demonstrations(run.config, folder->paths().folder);
  if (!data && stopped_script(data.error(), run.signals)) return finish_early(run, *folder);
  if (!data) return failed_stage(data.error());
  auto stage = make_stage(run.config, *data);
  if (!stage) return failed_stage(stage.error());
  return run_supervised(std::move(*stage), run, *folder);
}

Result<policy::SftStage> make_stage(const Selection& selection, const RunConfig& config) {
  TRY_VOID(policy::check_placement(config.learner));
  TRY(auto conversations, conversations_of(selection, config));
  TRY(auto model, policy::load_hf_model(config.model.folder));
  return policy::SftStage::make(config.sft,
                                policy::placed(model.config(), model.weights(), config.learner),
                                std::move(conversations), static_cast<uint64_t>(config.run.seed));
}

}  // namespace

Result<std::string> check_demonstrations(const RunConfig& config) {
  const fs::path &data = config.sft.data, &script = config.sft.script;
  if (data.empty()) {
    std::error_code ignored;
    if (fs::is_regular_file(script, ignored)) {
      return "conversations: " + script.string() + " writes them when the run starts\n";
    }
    return fail(ErrorCode::not_found,
                "sft.script: expected a Python script, found no file " + script.string());
  }
  TRY(const auto lessons, read_lessons(config, data));
  const int64_t context = config.sft.context;
  const auto counts = policy::count_conversations(lessons.conversations, context);
  return data.string() + ": " + policy::counts_text(counts, context) + '\n';
}

std::string export_note(const SftConfig& config) {
  std::error_code ignored;
  if (config.export_to.empty() || !fs::exists(config.export_to / "config.json", ignored)) return "";
  return "WARNING: when the run is finished, its model replaces the one in " +
         config.export_to.string() +
         " (sft.export_to); to keep that one, name another folder or clear the key: --set "
         "sft.export_to=\n";
}

StageEnd run_sft(const RunConfig& config, const RunPlace& place, const Output& output) {
  const SignalWait signals;
  const DataRun run{config, place, output, signals};
  policy::use_threads(threads_within_cores(config.learner));
  return config.sft.data.empty() ? run_with_script(run) : run_with_data(run);
}

StageEnd run_rft(const RunConfig& config, const RunPlace& place, const Output& output) {
  const SignalWait signals;
  const DataRun run{config, place, output, signals};
  policy::use_threads(threads_within_cores(config.learner));
  auto selected = select_trajectories(run, select_for_rft);
  if (!selected) return failed_stage(selected.error());
  auto stage = make_stage(selected->selection, config);
  if (!stage) return failed_stage(stage.error());
  auto folder = open_selected(std::move(*selected), run, "rft");
  if (!folder) return failed_stage(folder.error());
  return run_supervised(std::move(*stage), run, *folder);
}

}  // namespace warpsmith::commands
