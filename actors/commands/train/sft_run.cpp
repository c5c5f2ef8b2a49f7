// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/train/sft_run.hpp"

#include <ATen/Parallel.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "actors/base/script.hpp"
#include "actors/commands/progress.hpp"
#include "actors/commands/signals.hpp"
#include "actors/run/chat_frame.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/format/tokenizer_json.hpp"
#include "policy/learn/stages/sft.hpp"
#include "policy/text/conversation_file.hpp"
#include "runtime/clock.hpp"
#include "runtime/json_text.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;

Result<fs::path> write_demonstrations(const RunConfig& config, const fs::path& folder) {
  if (!config.sft.data.empty()) return config.sft.data;
  fs::path whole = folder / "demonstrations.jsonl";
  if (fs::exists(whole)) return whole;  // this run is resumed
  const fs::path out = folder / "demonstrations.partial.jsonl";
  std::vector<std::string> words{"--seed", std::to_string(config.run.seed), "--out", out.string(),
                                 "--tasks"};
  for (const fs::path& tasks : config.synthesis.tasks) words.push_back(tasks.string());
  words.emplace_back("--apart-from");
  for (const fs::path& tasks : config.synthesis.held_out) words.push_back(tasks.string());
  std::cerr << "writing demonstrations with " << config.sft.script.string() << '\n';
  const auto ran = run_script(config.sft.script, words, std::chrono::minutes{30});
  if (!ran) return tl::unexpected(ran.error());
  std::error_code error;
  fs::rename(out, whole, error);
  if (error) return fail_with_errno("cannot rename to", whole, error.value());
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

Result<policy::SftStage> make_stage(const RunConfig& config, const fs::path& folder) {
  auto data = write_demonstrations(config, folder);
  if (!data) return tl::unexpected(std::move(data.error()));
  const auto demonstrations = policy::read_demonstrations(*data);
  if (!demonstrations) return tl::unexpected(demonstrations.error());
  const auto tokenizer = policy::read_tokenizer(config.model.folder);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  auto model = start_model(config);
  if (!model) return tl::unexpected(std::move(model.error()));
  const auto frame = chat_frame(config.agent, *tokenizer, config.model.folder);
  if (!frame) return tl::unexpected(frame.error());
  std::vector<policy::Conversation> conversations;
  for (const auto& one : *demonstrations) {
    conversations.push_back(tokenised(one, *tokenizer, *frame));
  }
  policy::ModelConfig shape = model->config();
  end_turns_by(*frame, *tokenizer, shape);
  return policy::SftStage::make(config.sft, policy::Transformer(shape, model->weights()),
                                std::move(conversations), static_cast<uint64_t>(config.run.seed));
}

/// A supervised stage and its checkpoints, numbered by optimiser step.
class SftRun {
 public:
  SftRun(const RunConfig& config, policy::SftStage stage, CheckpointStore checkpoints)
      : config_(config), stage_(std::move(stage)), checkpoints_(std::move(checkpoints)) {}

  policy::SftStage& stage() { return stage_; }

  /// Restores the newest intact checkpoint; starts from the beginning if there is none yet.
  Result<void> restore() {
    const auto search = checkpoints_.newest();
    if (!search) return tl::unexpected(search.error());
    for (const std::string& complaint : search->complaints) std::cerr << complaint << '\n';
    if (!search->found && !search->complaints.empty()) {
      return fail(ErrorCode::corrupt, "no intact checkpoint: " + search->complaints.front());
    }
    if (!search->found) return {};
    if (auto restored = stage_.restore(search->found->folder); !restored) return restored;
    saved_ = stage_.step_number();
    std::cerr << "resuming after step " << saved_ << '/' << stage_.steps() << '\n';
    return checkpoints_.set_aside_after(static_cast<uint32_t>(saved_));
  }

  Result<void> save() {
    const int64_t step = stage_.step_number();
    if (step == saved_) return {};
    const auto written = checkpoints_.write({1, static_cast<uint32_t>(step)},
                                            [this](const fs::path& to) { return stage_.save(to); });
    if (!written) return tl::unexpected(written.error());
    saved_ = step;
    return checkpoints_.prune(static_cast<size_t>(config_.ledger.keep_checkpoints));
  }

  /// Trains until the end, the time limit or Ctrl-C, then writes a checkpoint.
  Result<void> run(const SignalWait& signals, const Output& output) {
    const auto begin = SteadyClock::now();
    while (!stage_.done()) {
      const policy::SftReport report = stage_.step();
      const auto elapsed = SteadyClock::now() - begin;
      if (!output.quiet && (report.step % 20 == 1 || stage_.done())) show(report, elapsed);
      if (report.step - saved_ >= config_.ledger.checkpoint_steps) {
        if (auto saved = save(); !saved) return saved;
      }
      if (signals.wait(std::chrono::milliseconds{0}) || elapsed > config_.run.time_limit) break;
    }
    return save();
  }

 private:
  static void show(const policy::SftReport& report, SteadyClock::duration elapsed) {
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(elapsed);
    std::cerr << "step " << report.step << '/' << report.steps << " loss " << report.loss << " lr "
              << report.learning_rate << " after " << duration_text(whole) << '\n';
  }

  const RunConfig& config_;
  policy::SftStage stage_;
  CheckpointStore checkpoints_;
  int64_t saved_ = 0;  // step of the newest checkpoint
};

/// Saves the model's files into `to`: each is written beside it, then renamed, so that it is
/// complete whatever happens. Other files in the folder stay.
Result<void> save_model(const policy::SftStage& stage, const fs::path& to, const fs::path& from) {
  const fs::path beside = to.parent_path() / ('.' + to.filename().string() + ".unfinished");
  std::error_code error;
  fs::remove_all(beside, error);
  for (const fs::path& folder : {to, beside}) {
    if (!error) fs::create_directories(folder, error);
  }
  if (error) return fail_with_errno("cannot prepare", to, error.value());
  auto saved = policy::save_hf_model(beside, stage.model(), from);
  if (saved) saved = sync_tree(beside);
  if (!saved) return saved;
  for (const auto& file : fs::directory_iterator{beside}) {
    fs::rename(file.path(), to / file.path().filename(), error);
    if (error) return fail_with_errno("cannot write", to / file.path().filename(), error.value());
  }
  fs::remove(beside, error);
  return sync_path(to);
}

void print_stopped(const std::string& when, const RunConfig& config, const RunPaths& paths) {
  const fs::path& to = config.sft.export_to;
  std::cerr << "stopped " << when << (to.empty() ? "" : ": " + to.string() + " is not written")
            << "; resume with: ./warpsmith train --resume " << paths.folder.string() << '\n';
}

Result<void> export_model(const policy::SftStage& stage, const RunConfig& config,
                          const RunPaths& paths) {
  const fs::path& to = config.sft.export_to;
  if (stage.done()) return to.empty() ? Result<void>{} : save_model(stage, to, config.model.folder);
  print_stopped(
      "after step " + std::to_string(stage.step_number()) + " of " + std::to_string(stage.steps()),
      config, paths);
  return {};
}

/// True if Ctrl-C ended the script too, which is no failure. The signal may come a little late.
bool stopped_script(const Error& error, const SignalWait& signals) {
  constexpr std::chrono::milliseconds patience{200};
  return error.code == ErrorCode::process_failed && signals.wait(patience);
}

ExitCode finish_early(const RunConfig& config, const RunPaths& paths, const Output& output) {
  print_stopped("before the first step", config, paths);
  const nlohmann::json out{{"model", nullptr}, {"steps", 0}, {"held_out_loss", nullptr}};
  if (output.json) std::cout << out.dump() << '\n';
  return ExitCode::success;
}

ExitCode finish(const policy::SftStage& stage, const fs::path& folder, const Output& output) {
  const auto held_out = stage.held_out_loss();
  std::cerr << "model in " << folder.string() << ", held-out loss "
            << (held_out ? std::to_string(*held_out) : "not measured") << ", " << stage.left_out()
            << " conversations left out\n";
  if (!output.json) return ExitCode::success;
  nlohmann::json out{{"model", folder.string()}, {"steps", stage.step_number()}};
  out["held_out_loss"] = nullable(held_out);
  std::cout << out.dump() << '\n';
  return ExitCode::success;
}

Result<RunFolder> open_folder(const RunConfig& config, const RunPlace& place) {
  auto folder = place.resume.empty() ? RunFolder::create(config.run.folder, config.run.name, "sft")
                                     : RunFolder::open(place.resume, "config.toml");
  if (!folder) return folder;
  if (auto kept = folder->write_config(to_toml(config)); !kept) return tl::unexpected(kept.error());
  return folder;
}

Result<SftRun> open_run(const RunConfig& config, const RunPaths& paths) {
  auto stage = make_stage(config, paths.folder);
  if (!stage) return tl::unexpected(std::move(stage.error()));
  auto checkpoints = CheckpointStore::open(paths.checkpoints());
  if (!checkpoints) return tl::unexpected(std::move(checkpoints.error()));
  SftRun run{config, std::move(*stage), std::move(*checkpoints)};
  if (auto restored = run.restore(); !restored) return tl::unexpected(restored.error());
  return run;
}

}  // namespace

ExitCode run_sft(const RunConfig& config, const RunPlace& place, const Output& output) {
  const SignalWait signals;
  const auto folder = open_folder(config, place);
  if (!folder) return report(folder.error());
  const RunPaths& paths = folder->paths();
  const fs::path model_folder = paths.folder / "model";
  if (config.learner.threads > 0) at::set_num_threads(static_cast<int>(config.learner.threads));
  auto run = open_run(config, paths);
  if (!run && stopped_script(run.error(), signals)) return finish_early(config, paths, output);
  if (!run) return report(run.error());
  auto kept = run->run(signals, output);
  if (kept) kept = save_model(run->stage(), model_folder, config.model.folder);
  if (kept) kept = export_model(run->stage(), config, paths);
  if (!kept) return report(kept.error());
  return finish(run->stage(), model_folder, output);
}

}  // namespace warpsmith::actors
