// SPDX-License-Identifier: Apache-2.0
// The stages that sample trajectories, as a run: start, progress, Ctrl-C, summary.
#include "commands/train/stage_run.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <optional>

#include "actors/brain/exchange_log.hpp"
#include "actors/run/memory_budget.hpp"
#include "actors/run/model_text.hpp"
#include "actors/run/run_inputs.hpp"
#include "actors/sandbox/sandbox_backend.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "commands/run_loop.hpp"
#include "commands/runs/run_report.hpp"
#include "commands/stack.hpp"
#include "policy/learn/placement.hpp"
#include "runtime/log.hpp"
#include "runtime/run/run_queries.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

Result<RunSummary> summary_of(const RunPaths& paths) {
  TRY(auto db, RunDatabase::open(paths.database(), SqlAccess::read_only));
  return summarize(db);
}

/// Without a learner, closed trajectories stay in flight.
void print_counts(const RunSummary& s, bool learns) {
  if (!learns) {
    std::cerr << s.admitted << " trajectories = " << s.closed << " collected + "
              << s.dropped_total() << " dropped + " << s.open << " open";
    return;
  }
  std::cerr << s.admitted << " trajectories = " << s.trained << " trained + " << s.dropped_total()
            << " dropped + " << s.in_flight << " in flight (" << s.open << " running, "
            << s.closed + s.stepped << " to be trained), " << s.last_step << " steps";
}

void print_text(const RunPaths& paths, const RunSummary& s, bool learns) {
  std::cerr << paths.folder.string() << ": ";
  print_counts(s, learns);
  if (learns && s.reward_first && s.reward_last) std::cerr << ", reward " << rewards_text(s);
  std::cerr << '\n';
}

void print_composed(const RunPaths& paths) {
  const std::string text = composed_text(paths);
  if (!text.empty()) std::cerr << "composed tasks: " << text << '\n';
}

Result<RunSession> open_run(const RunConfig& config, const RunPlace& place) {
  const std::string stack = to_json(full_stack());
  if (!place.resume.empty()) return resume_run(config, place.resume, stack);
  return begin_run(config, std::filesystem::path{place.config_file}.stem().string(), stack);
}

/// A stage that collects has neither a learner nor a curriculum. Requires leave_slot_cores.
void adapt_to_stage(RunInputs& inputs) {
  RunConfig& c = inputs.config;
  inputs.learns = learns_online(c.run.stage);
  c.learner.threads = threads_within_cores(c.learner);
  if (c.run.stage != Stage::collect) return;
  c.synthesis.curriculum = {.quarantine_after = 0};
  c.synthesis.disable_composers();
  if (c.collect.greedy) c.generator.temperature = 0;
}

Result<void> check_inputs(const RunConfig& config, const RunInputs& inputs) {
  TRY_VOID(check_held_out(inputs));
  const bool learns = learns_online(config.run.stage);
  return check_gpus_here(config, memory_budget(config, inputs.model, learns));
}

Result<RunInputs> read_inputs(const RunConfig& config, const std::filesystem::path& model) {
  TRY(auto inputs, load_inputs(config, model));
  TRY_VOID(check_inputs(config, inputs));
  adapt_to_stage(inputs);
  if (!inputs.learns) return inputs;
  add_random_weights(inputs);
  TRY_VOID(add_critic(inputs));
  return inputs;
}

/// A new run reads its model and tasks before it makes a folder, so that bad input leaves nothing
/// behind. A resumed run finds its weights only after its folder is open.
Result<std::optional<RunInputs>> early_inputs(const RunConfig& config, const RunPlace& place) {
  if (!place.resume.empty()) return std::nullopt;
  TRY(auto inputs, read_inputs(config, config.model.folder));
  return std::optional{std::move(inputs)};
}

Result<std::shared_ptr<const RunInputs>> inputs_of(const RunConfig& config,
                                                   const RunSession& session,
                                                   std::optional<RunInputs> early) {
  const auto& checkpoint = session.origin.checkpoint;
  const auto& model = checkpoint.empty() ? config.model.folder : checkpoint;
  if (!early) {
    TRY(auto inputs, read_inputs(config, model));
    early = std::move(inputs);
  }
  TRY_VOID(keep_text(session.folder.paths(), model, early->frame));
  TRY_VOID(add_history(*early, session.ledger->store));
  return with_session(std::move(*early), session);
}

/// The parts of a tree.
struct TreeParts {
  std::shared_ptr<const RunInputs> inputs;
  std::unique_ptr<Tap> tap;
};

LoopResult run_tree(TreeParts parts, const SignalWait& signals, const Output& output) {
  const RunConfig& config = parts.inputs->config;
  RunTree tree{parts.inputs, std::move(parts.tap)};
  LoopOptions options;
  options.pause_on_warnings = config.learner.warnings.pause;
  options.trajectories = static_cast<uint64_t>(config.run.trajectories);
  options.interval = config.telemetry.interval;
  options.time_limit = config.run.time_limit;
  options.window = config.telemetry.window;
  options.quiet = output.quiet;
  options.trains = parts.inputs->learns;
  options.end = parts.inputs->end;
  options.verdict = verdict_timeout(config.sandbox);
  options.resumed = parts.inputs->origin.version.incarnation > 1;
  return run_loop(tree, signals, options);
}

/// A resumed run starts another trace file and keeps the earlier ones.
Result<std::unique_ptr<Tap>> tap_of(const RunConfig& config, const RunPaths& paths,
                                    uint32_t incarnation) {
  if (!config.telemetry.trace) return make_silent_tap();
  const std::string number = incarnation > 1 ? fmt::format("-{}", incarnation) : "";
  return make_trace_tap((paths.folder / ("trace" + number + ".json")).string());
}

void note_if_done(const RunPaths& paths, const RunInputs& inputs) {
  const auto summary = summary_of(paths);
  const RunSettings& c = inputs.config.run;
  if (!summary || summary->admitted < static_cast<uint64_t>(c.trajectories)) return;
  const uint64_t left = inputs.learns ? summary->in_flight : summary->open;
  if (left == 0) std::cerr << nothing_left_text(c.stage, paths.folder);
}

StageEnd finish(const RunPaths& paths, const LoopResult& loop, const RunInputs& inputs,
                const Output& output) {
  const auto summary = summary_of(paths);
  if (!summary) return failed_stage(summary.error());
  print_text(paths, *summary, inputs.learns);
  print_composed(paths);
  const auto usage = usage_of_run(paths.folder);
  if (usage && usage->requests > 0) std::cerr << "brain: " << usage_text(*usage) << '\n';
  if (output.json) std::cout << summary_json(paths, *summary, -1) << '\n';
  StageEnd end{ExitCode::success, loop.end == LoopEnd::finished, false, paths.folder};
  if (loop.end != LoopEnd::failed) return end;
  end.code = report({loop.error.code, paths.log().string() + ": " + loop.error.message});
  return end;
}

Result<void> check_samplable(const RunConfig& config) {
  if (learns_online(config.run.stage)) {
    TRY_VOID(check_trainable(config));
    TRY_VOID(policy::check_placement(config.learner));
  }
  return check_slots(config.sandbox);
}

/// Before a resumed run's folder is opened: its checkpoints copy the tokenizer from model.folder.
Result<void> check_start(const RunConfig& config, const RunPlace& place) {
  if (auto good = check_samplable(config); !good || place.resume.empty()) return good;
  return check_text({place.resume}, config);
}

log::Sinks sinks_of(const RunConfig& config, const RunPaths& paths) {
  log::Sinks sinks;
  sinks.level = log::level_named(config.telemetry.log_level);
  sinks.to_stderr = false;
  sinks.file = paths.log().string();
  return sinks;
}

}  // namespace

Result<void> check_training(const RunConfig& config) {
  TRY_VOID(check_samplable(config));
  TRY(auto inputs, load_inputs(config, config.model.folder));
  TRY_VOID(check_inputs(config, inputs));
  return learns_online(config.run.stage) ? add_critic(inputs) : Result<void>{};
}

StageEnd run_training(const RunConfig& config, const RunPlace& place, const Output& output) {
  const SignalWait signals;
  if (auto good = check_start(config, place); !good) return failed_stage(good.error());
  leave_slot_cores(config.sandbox);
  auto early = early_inputs(config, place);
  if (!early) return failed_stage(early.error());
  auto session = open_run(config, place);
  if (!session) return failed_stage(session.error());
  const RunPaths paths = session->folder.paths();
  log::start(sinks_of(config, paths));
  auto inputs = inputs_of(config, *session, std::move(*early));
  if (!inputs) return failed_stage(inputs.error());
  auto kept = notify_accepted(place);
  if (kept) kept = keep_config(*session, config);
  if (!kept) return failed_stage(kept.error());
  std::cerr << "run folder " << paths.folder.string() << ", log in " << paths.log().string()
            << '\n';
  if (!place.resume.empty()) note_if_done(paths, **inputs);
  auto tap = tap_of(config, paths, session->origin.version.incarnation);
  if (!tap) return failed_stage(tap.error());
  const LoopResult loop = run_tree({*inputs, std::move(*tap)}, signals, output);
  if (loop.end != LoopEnd::finished || (*inputs)->end->asked()) {
    std::cerr << "resume with: ./warpsmith train --resume " << resumable(place, paths.folder)
              << '\n';
  }
  session->folder.end_as(state_after(loop));
  StageEnd end = finish(paths, loop, **inputs, output);
  end.stopped = signals.arrived();
  return end;
}

}  // namespace warpsmith::commands
