// SPDX-License-Identifier: Apache-2.0
#include "commands/run_loop.hpp"

#include <unistd.h>

#include <iostream>
#include <optional>

#include "commands/progress.hpp"
#include "runtime/clock.hpp"
#include "runtime/log.hpp"

namespace warpsmith::commands {
namespace {

using std::chrono::seconds;

/// Prints progress: on a terminal one line that is overwritten, elsewhere a line now and then.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(const LoopOptions& options)
      : quiet_(options.quiet),
        live_(isatty(STDERR_FILENO) == 1),
        line_(std::chrono::duration_cast<seconds>(options.window)) {}

  void print(RunTree& tree, const LoopOptions& options, SteadyClock::time_point begin) {
    if (quiet_ || (!live_ && ++calls_ % plain_every != 1)) return;
    constexpr seconds bound{5};
    auto counts = tree.counts(bound);
    auto numbers = tree.numbers(bound);
    if (!counts || !numbers) return;
    const auto elapsed = std::chrono::duration_cast<seconds>(SteadyClock::now() - begin);
    const auto limit = std::chrono::duration_cast<seconds>(options.time_limit);
    ProgressView view{.counts = std::move(*counts),
                      .trajectories = options.trajectories,
                      .trains = options.trains,
                      .resumed = options.resumed,
                      .seen = std::move(*numbers),
                      .elapsed = elapsed,
                      .limit = limit};
    if (!ended_before_) ended_before_ = trajectories_ended(view);
    view.ended_before = *ended_before_;
    show(view);
  }
  /// The line again, with the reason for which the run ends: its actors no longer answer.
  void fail(const Error& why, SteadyClock::time_point begin) {
    if (quiet_) return;
    last_.elapsed = std::chrono::duration_cast<seconds>(SteadyClock::now() - begin);
    last_.failure = why.message;
    show(last_);
  }
  void end() const {
    if (live_ && !quiet_) std::cerr << '\n';
  }

 private:
  void show(const ProgressView& view) {
    last_ = view;
    const std::string line = line_.next(view);
    std::cerr << (live_ ? "\r\x1b[K" : "") << line << (live_ ? "" : "\n") << std::flush;
  }

  static constexpr int plain_every = 10;
  bool quiet_, live_;
  ProgressView last_;
  int calls_ = 0;
  std::optional<uint64_t> ended_before_;
  ProgressLine line_;
};

void handle_signal(RunTree& tree, bool& stopping) {
  stopping = true;
  std::cerr << "\nstopping: finished work is kept; press Ctrl-C again to exit at once\n";
  tree.stop();
}

/// Stops the run if the learner has an early warning in force.
void pause_on_warning(RunTree& tree, bool& stopping) {
  const auto numbers = tree.numbers(seconds{5});
  const auto warnings = numbers ? early_warnings(*numbers) : std::vector<std::string>{};
  if (warnings.empty()) return;
  stopping = true;
  std::cerr << "\npausing on the early warning " << warnings.front()
            << " (learner.warnings.pause)\n";
  tree.stop();
}

/// Ends the run at the request of an actor that cannot continue: starts nothing more, waits for the
/// work in flight, then stops the run.
class RequestedEnd {
 public:
  explicit RequestedEnd(const LoopOptions& options) : options_(options) {}

  void follow(RunTree& tree, bool& stopping) {
    if (stopping || !options_.end) return;
    const auto why = options_.end->asked();
    if (!why) return;
    if (!announced_) {
      announced_ = true;
      drain_deadline_ = Deadline::after(options_.verdict);
      std::cerr << "\nstopping: " << why->error.message << "; finished work is kept\n";
      tree.drain();
    }
    const auto counts = tree.counts(seconds{5});
    if (counts && counts->open > options_.end->held() && !drain_deadline_.passed()) return;
    stopping = true;
    tree.stop();
  }
  /// A failure is the run's failure; a limit is a stop like any other.
  void finish(LoopResult& result) const {
    if (!announced_) return;
    const auto why = options_.end->asked();
    if (why->limit) {
      result.limit = why->error.message;
    } else if (result.end != LoopEnd::failed) {
      result.end = LoopEnd::failed;
      result.error = why->error;
    }
  }

 private:
  const LoopOptions& options_;
  bool announced_ = false;
  Deadline drain_deadline_ = Deadline::after({});  // set when the request is announced
};

uint64_t refused_tasks(RunTree& tree) {
  auto numbers = tree.numbers(seconds{5});
  return numbers ? static_cast<uint64_t>(numbers->values["synthesis-0.refused"]) : 0;
}

/// True if not all trajectories were started, or if that is not known.
bool starts_less(RunTree& tree, const LoopOptions& options) {
  const auto counts = tree.counts(seconds{5});
  return !counts || counts->admitted < options.trajectories;
}

Error failure_of(const ActorStatus& supervisor) {
  const auto code = supervisor.gauges.find("failure_code");
  if (code == supervisor.gauges.end()) return {ErrorCode::infrastructure, supervisor.phase};
  return {static_cast<ErrorCode>(static_cast<int>(code->second)), supervisor.phase};
}

}  // namespace

RunState state_after(const LoopResult& result) {
  if (result.end == LoopEnd::failed) return RunState::failed;
  const bool cut = result.end == LoopEnd::stopped || !result.limit.empty() || result.time_is_up;
  return cut ? RunState::interrupted : RunState::finished;
}

LoopResult run_loop(RunTree& tree, const SignalWait& signals, const LoopOptions& options) {
  const auto begin = SteadyClock::now();
  ProgressPrinter printer{options};
  LoopResult result;
  RequestedEnd requested{options};
  bool stopping = false, drained = false;
  while (true) {
    if (signals.wait(options.interval)) handle_signal(tree, stopping);
    if (options.pause_on_warnings && !stopping) pause_on_warning(tree, stopping);
    requested.follow(tree, stopping);
    const auto elapsed = SteadyClock::now() - begin;
    if (options.time_limit.count() > 0 && elapsed > options.time_limit && !drained) {
      drained = true;
      log::info("run.time_limit is reached: no new trajectory is started");
      tree.drain();
    }
    const auto status = tree.status(seconds{10});
    if (!status || status->phase.starts_with("failed")) {
      result.end = LoopEnd::failed;
      result.error = status ? failure_of(*status) : status.error();
      printer.fail(result.error, begin);
      break;
    }
    printer.print(tree, options, begin);
    if (status->phase != "done") continue;
    result.end = stopping ? LoopEnd::stopped : LoopEnd::finished;
    break;
  }
  requested.finish(result);
  result.refused_tasks = refused_tasks(tree);
  result.time_is_up = drained && starts_less(tree, options);
  signals.exit_on_next();  // only actors are left to stop
  printer.end();
  return result;
}

}  // namespace warpsmith::commands
