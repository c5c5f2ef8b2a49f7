// SPDX-License-Identifier: Apache-2.0
#include "commands/train/sft_run.hpp"
#include "policy/learn/placement.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

#include "actors/base/script.hpp"
#include "commands/train/supervised_run.hpp"
#include "actors/run/chat_frame.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "policy/format/hf_folder.hpp"
#include "policy/format/tokenizer_json.hpp"
#include "policy/model/threads.hpp"
#include "policy/text/conversation_file.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;

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
  const auto ran = run_script(config.sft.script, words, std::chrono::minutes{30});
  if (!ran) return tl::unexpected(ran.error());
  if (auto synced = sync_path(out); !synced) return tl::unexpected(synced.error());
  std::error_code error;
  fs::rename(out, whole, error);
  if (error) return fail_with_errno("cannot rename to", whole, error.value());
  if (auto synced = sync_path(folder); !synced) return tl::unexpected(synced.error());
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

Result<policy::SftStage> make_stage(const RunConfig& config, const fs::path& data) {
  if (auto good = policy::check_placement(config.learner); !good) {
    return tl::unexpected(std::move(good.error()));
  }
  const auto demonstrations = policy::read_demonstrations(data);
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
  return policy::SftStage::make(config.sft, policy::placed(shape, model->weights(), config.learner),
                                std::move(conversations), static_cast<uint64_t>(config.run.seed));
}

/// True if Ctrl-C ended the script too, which is no failure. The signal may come a little late.
bool stopped_script(const Error& error, const SignalWait& signals) {
  constexpr std::chrono::milliseconds patience{200};
  return error.code == ErrorCode::process_failed && signals.wait(patience);
}

StageEnd finish_early(const DataRun& run, const RunFolder& folder) {
  if (auto kept = keep_settings(run, folder); !kept) return failed_stage(kept.error());
  const RunPaths& paths = folder.paths();
  print_stopped(run, paths, "before the first step");
  const nlohmann::json out{{"model", nullptr}, {"steps", 0}, {"held_out_loss", nullptr}};
  if (run.output.json) std::cout << out.dump() << '\n';
  return {ExitCode::success, false, true, paths.folder};
}

/// Data that cannot be learned from leaves no run behind.
StageEnd run_with_data(const DataRun& run) {
  auto stage = make_stage(run.config, run.config.sft.data);
  if (!stage) return failed_stage(stage.error());
  const auto folder = open_data_folder(run.config, run.place, "sft");
  if (!folder) return failed_stage(folder.error());
  return run_supervised(std::move(*stage), run, *folder);
}

/// The script writes into the run's folder.
StageEnd run_with_script(const DataRun& run) {
  const auto folder = open_data_folder(run.config, run.place, "sft");
  if (!folder) return failed_stage(folder.error());
  const auto data = write_demonstrations(run.config, folder->paths().folder);
  if (!data && stopped_script(data.error(), run.signals)) return finish_early(run, *folder);
  if (!data) return failed_stage(data.error());
  auto stage = make_stage(run.config, *data);
  if (!stage) return failed_stage(stage.error());
  return run_supervised(std::move(*stage), run, *folder);
}

}  // namespace

Result<void> check_demonstrations(const SftConfig& config) {
  if (config.data.empty()) {
    std::error_code ignored;
    if (fs::is_regular_file(config.script, ignored)) return {};
    return fail(ErrorCode::not_found,
                "sft.script: expected a Python script, found no file " + config.script.string());
  }
  const auto read = policy::read_demonstrations(config.data);
  return read ? Result<void>{} : tl::unexpected(read.error());
}

StageEnd run_sft(const RunConfig& config, const RunPlace& place, const Output& output) {
  const SignalWait signals;
  const DataRun run{config, place, output, signals};
  policy::use_threads(within_cores(config.learner));
  return config.sft.data.empty() ? run_with_script(run) : run_with_data(run);
}

}  // namespace warpsmith::commands
