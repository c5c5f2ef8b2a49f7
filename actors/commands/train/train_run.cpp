// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/train/train_run.hpp"

#include <filesystem>
#include <iostream>
#include <optional>

#include "actors/commands/run_loop.hpp"
#include "actors/commands/runs/run_summary.hpp"
#include "actors/commands/stack.hpp"
#include "actors/sandbox/service_backend.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "policy/learn/placement.hpp"
#include "runtime/log.hpp"
#include "runtime/run/run_queries.hpp"

namespace warpsmith::actors {
namespace {

Result<RunSummary> summary_of(const RunPaths& paths) {
  auto db = RunDatabase::open(paths.database(), SqlAccess::read_only);
  if (!db) return tl::unexpected(std::move(db.error()));
  return summarize(*db);
}

/// Called after the end of the RunTree, since nothing else may use the store.
void record_end(LedgerSource& ledger) {
  auto recorded = ledger.record_wall_time();
  if (recorded) recorded = ledger.store.flush();
  if (!recorded) log::warn("the run's wall time was not recorded: " + recorded.error().message);
}

void print_text(const RunPaths& paths, const RunSummary& s, const LoopResult& loop) {
  std::cerr << paths.folder.string() << ": " << s.admitted << " trajectories = " << s.trained
            << " trained + " << s.dropped_total() << " dropped + " << s.in_flight << " in flight, "
            << s.last_step << " steps";
  if (s.reward_first && s.reward_last) {
    std::cerr << ", reward " << *s.reward_first << " (first 128) -> " << *s.reward_last
              << " (last 128)";
  }
  std::cerr << '\n';
  if (loop.end == LoopEnd::stopped) {
    std::cerr << "resume with: ./warpsmith train --resume " << paths.folder.string() << '\n';
  }
}

Result<RunSession> open_run(const RunConfig& config, const RunPlace& place) {
  const std::string stack = to_json(full_stack());
  if (!place.resume.empty()) return resume_run(config, place.resume, stack);
  return begin_run(config, std::filesystem::path{place.config_file}.stem().string(), stack);
}

/// A new run reads its model and tasks before it makes a folder, so that bad input leaves nothing
/// behind. A resumed run finds its weights only after its folder is open.
Result<std::optional<RunInputs>> early_inputs(const RunConfig& config, const RunPlace& place) {
  if (!place.resume.empty()) return std::nullopt;
  auto inputs = load_inputs(config, config.model.folder);
  if (!inputs) return tl::unexpected(std::move(inputs.error()));
  return std::optional{std::move(*inputs)};
}

Result<std::shared_ptr<const RunInputs>> inputs_of(const RunConfig& config,
                                                   const RunSession& session,
                                                   std::optional<RunInputs> early) {
  if (!early) {
    const auto& checkpoint = session.origin.checkpoint;
    auto inputs = load_inputs(config, checkpoint.empty() ? config.model.folder : checkpoint);
    if (!inputs) return tl::unexpected(std::move(inputs.error()));
    early = std::move(*inputs);
  }
  return with_session(std::move(*early), session);
}

/// The parts of an tree.
struct TreeParts {
  std::shared_ptr<const RunInputs> inputs;
  std::unique_ptr<Tap> tap;
};

LoopResult run_tree(const RunConfig& config, TreeParts parts, const SignalWait& signals,
                    const Output& output) {
  RunTree tree{parts.inputs, std::move(parts.tap)};
  LoopOptions options;
  options.trajectories = static_cast<uint64_t>(config.run.trajectories);
  options.interval = config.telemetry.interval;
  options.time_limit = config.run.time_limit;
  options.window = config.telemetry.window;
  options.quiet = output.quiet;
  return run_loop(tree, signals, options);
}

/// A resumed run starts another trace file and keeps the earlier ones.
Result<std::unique_ptr<Tap>> tap_of(const RunConfig& config, const RunPaths& paths,
                                    uint32_t incarnation) {
  if (!config.telemetry.trace) return make_silent_tap();
  const std::string number = incarnation > 1 ? "-" + std::to_string(incarnation) : "";
  return make_trace_tap((paths.folder / ("trace" + number + ".json")).string());
}

ExitCode finish(const RunPaths& paths, const LoopResult& loop, const Output& output) {
  const auto summary = summary_of(paths);
  if (!summary) return report(summary.error());
  print_text(paths, *summary, loop);
  if (output.json) std::cout << summary_json(paths, *summary, -1) << '\n';
  if (loop.end != LoopEnd::failed) return ExitCode::success;
  return report({loop.error.code, paths.log().string() + ": " + loop.error.message});
}

log::Sinks sinks_of(const RunConfig& config, const RunPaths& paths) {
  log::Sinks sinks;
  sinks.level = log::level_named(config.telemetry.log_level);
  sinks.to_stderr = false;
  sinks.file = paths.log().string();
  return sinks;
}

}  // namespace

ExitCode run_training(const RunConfig& config, const RunPlace& place, const Output& output) {
  const SignalWait signals;
  if (auto good = check_trainable(config); !good) return report(good.error());
  if (auto there = policy::check_placement(config.learner); !there) return report(there.error());
  if (auto fits = check_slots(config.sandbox); !fits) return report(fits.error());
  leave_slot_cores(config.sandbox);
  auto early = early_inputs(config, place);
  if (!early) return report(early.error());
  auto session = open_run(config, place);
  if (!session) return report(session.error());
  const RunPaths paths = session->folder.paths();
  log::start(sinks_of(config, paths));
  auto inputs = inputs_of(config, *session, std::move(*early));
  if (!inputs) return report(inputs.error());
  if (auto kept = keep_config(*session, config); !kept) return report(kept.error());
  std::cerr << "run folder " << paths.folder.string() << ", log in " << paths.log().string()
            << '\n';
  auto tap = tap_of(config, paths, session->origin.version.incarnation);
  if (!tap) return report(tap.error());
  const LoopResult loop = run_tree(config, {*inputs, std::move(*tap)}, signals, output);
  record_end(*session->ledger);
  return finish(paths, loop, output);
}

}  // namespace warpsmith::actors
