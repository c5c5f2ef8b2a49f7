// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/sft_run.hpp"

#include <ATen/Parallel.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "actors/commands/progress.hpp"
#include "actors/commands/signals.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/format/tokenizer_json.hpp"
#include "policy/learn/stages/sft.hpp"
#include "policy/text/conversation_file.hpp"
#include "runtime/clock.hpp"
#include "runtime/environment.hpp"
#include "runtime/process/child.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;

Result<fs::path> write_demonstrations(const RunConfig& config, const fs::path& folder) {
  if (!config.sft.data.empty()) return config.sft.data;
  const fs::path out = folder / "demonstrations.jsonl";
  std::vector<std::string> argv{python_interpreter().string(),
                                config.sft.script.string(),
                                "--seed",
                                std::to_string(config.run.seed),
                                "--out",
                                out.string(),
                                "--tasks"};
  for (const fs::path& tasks : config.synthesis.tasks) argv.push_back(tasks.string());
  argv.emplace_back("--apart-from");
  for (const fs::path& tasks : config.synthesis.held_out) argv.push_back(tasks.string());
  std::cerr << "writing demonstrations with " << config.sft.script.string() << '\n';
  const auto run = run_child({.argv = argv}, Deadline::after(std::chrono::minutes{30}));
  if (!run) return tl::unexpected(run.error());
  if (run->exit_code != 0) return fail(ErrorCode::process_failed, argv[1] + ": " + run->err);
  return out;
}

policy::Conversation tokenised(const policy::Demonstration& demonstration,
                               const policy::Tokenizer& tokenizer) {
  policy::Conversation conversation;
  for (const policy::ChatPiece& piece : policy::chat_pieces(demonstration.messages)) {
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
  std::vector<policy::Conversation> conversations;
  for (const auto& one : *demonstrations) conversations.push_back(tokenised(one, *tokenizer));
  return policy::SftStage::make(config.sft, std::move(*model), std::move(conversations),
                                static_cast<uint64_t>(config.run.seed));
}

/// Steps until the end, the time limit or Ctrl-C. True when it was stopped.
bool fine_tune(policy::SftStage& stage, const RunConfig& config, const SignalWait& signals,
               const Output& output) {
  const auto begin = SteadyClock::now();
  while (!stage.done()) {
    const policy::SftReport report = stage.step();
    const auto elapsed = SteadyClock::now() - begin;
    const bool shown = report.step % 20 == 1 || stage.done();
    if (!output.quiet && shown) {
      const auto whole = std::chrono::duration_cast<std::chrono::seconds>(elapsed);
      std::cerr << "step " << report.step << '/' << report.steps << " loss " << report.loss
                << " lr " << report.learning_rate << " after " << duration_text(whole) << '\n';
    }
    if (signals.arrived(std::chrono::milliseconds{0}) || elapsed > config.run.time_limit)
      return true;
  }
  return false;
}

Result<void> save_model(const policy::SftStage& stage, const fs::path& to, const fs::path& from) {
  std::error_code error;
  fs::create_directories(to, error);
  if (error) return fail(ErrorCode::io_failed, to.string() + ": " + error.message());
  const bool same = fs::equivalent(to, from, error);
  return policy::save_hf_model(to, stage.model(), same ? fs::path{} : from);
}

ExitCode finish(const policy::SftStage& stage, const fs::path& folder, const Output& output) {
  const auto held_out = stage.held_out_loss();
  std::cerr << "model in " << folder.string() << ", held-out loss "
            << (held_out ? std::to_string(*held_out) : "not measured") << ", " << stage.left_out()
            << " conversations left out\n";
  if (!output.json) return ExitCode::success;
  nlohmann::json out{{"model", folder.string()}, {"steps", stage.step_number()}};
  out["held_out_loss"] = held_out ? nlohmann::json(*held_out) : nlohmann::json(nullptr);
  std::cout << out.dump() << '\n';
  return ExitCode::success;
}

}  // namespace

ExitCode run_sft(const RunConfig& config, const Output& output) {
  const SignalWait signals;
  const auto folder = RunFolder::create(config.run.folder, config.run.name, "sft");
  if (!folder) return report(folder.error());
  const fs::path model_folder = folder->paths().folder / "model";
  if (auto kept = folder->write_config(to_toml(config)); !kept) return report(kept.error());
  if (config.learner.threads > 0) at::set_num_threads(static_cast<int>(config.learner.threads));
  auto stage = make_stage(config, folder->paths().folder);
  if (!stage) return report(stage.error());
  const bool stopped = fine_tune(*stage, config, signals, output);
  if (auto saved = save_model(*stage, model_folder, config.model.folder); !saved) {
    return report(saved.error());
  }
  if (!stopped && !config.sft.export_to.empty()) {
    auto saved = save_model(*stage, config.sft.export_to, config.model.folder);
    if (!saved) return report(saved.error());
  }
  return finish(*stage, model_folder, output);
}

}  // namespace warpsmith::actors
