// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/fault_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "commands/bench/faults.hpp"
#include "commands/bench/service_processes.hpp"
#include "runtime/clock.hpp"
#include "runtime/random_stream.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::commands {
namespace {

constexpr int max_retries = 5;  // of an evaluation, after infrastructure failures

/// The result of an evaluation with its retries.
struct FaultEvaluation {
  JudgedOutcome last;                 // the verdict, or the last infrastructure failure
  std::vector<std::string> failures;  // kinds of the infrastructure failures
  double took_ms = 0;                 // of the last attempt
  double all_ms = 0;                  // of all attempts
  bool killed = false;                // a process was killed in time
};

/// The service of one slot under faults; it is restarted whenever it was lost. Not thread-safe.
class FaultSlot {
 public:
  /// `ender`, if any, ends its services from another thread.
  FaultSlot(sandbox::SandboxOptions options, std::shared_ptr<sandbox::EndSwitch> ender)
      : options_(std::move(options)), ender_(std::move(ender)) {}

  FaultEvaluation judge(const Task& task, const Submission& submission) {
    FaultEvaluation result;
    for (int i = 0; i <= max_retries; ++i) {
      const auto begin = SteadyClock::now();
      const Judgement judgement = judge_once(task, submission);
      const std::chrono::duration<double, std::milli> took = SteadyClock::now() - begin;
      result.took_ms = took.count();
      result.all_ms += took.count();
      result.last = judged(judgement);
      if (std::holds_alternative<Verdict>(judgement)) break;
      result.failures.push_back(result.last.outcome);
    }
    return result;
  }

  /// The same, with a process killed during the first attempt.
  FaultEvaluation judge_with_kill(const Task& task, const Submission& submission,
                                  SlotProcess target, std::chrono::microseconds delay,
                                  ProcessCensus& census) {
    const auto client = running_client();
    if (!client) return judge(task, submission);
    ProcessKiller killer((*client)->pid(), target, delay, census);
    const auto begin = SteadyClock::now();
    const Judgement first = judge_once(task, submission);
    const bool killed = killer.finish();
    const std::chrono::duration<double, std::milli> took = SteadyClock::now() - begin;
    FaultEvaluation result{.last = judged(first)};
    if (std::holds_alternative<InfraFailure>(first)) {
      const std::string kind = result.last.outcome;
      result = judge(task, submission);
      result.failures.insert(result.failures.begin(), kind);
    }
    result.killed = killed;
    result.all_ms += took.count();
    return result;
  }

 private:
  /// The service's client; starts the service if there is none.
  Result<sandbox::Client*> running_client() {
    constexpr std::chrono::seconds start_budget{60};
    if (client_ && !client_->lost()) return &*client_;
    client_.reset();
    TRY(auto started, sandbox::Client::start(options_, Deadline::after(start_budget), ender_));
    return &client_.emplace(std::move(started));
  }

  Judgement judge_once(const Task& task, const Submission& submission) {
    constexpr std::chrono::minutes budget{5};  // the first evaluation may measure the task
    auto client = running_client();
    if (!client) return InfraFailure{InfraKind::sandbox_lost, client.error().message};
    return (*client)->evaluate({task, submission, Request::final}, Deadline::after(budget));
  }

  sandbox::SandboxOptions options_;
  std::shared_ptr<sandbox::EndSwitch> ender_;
  std::optional<sandbox::Client> client_;
};

constexpr std::chrono::seconds end_patience{10};  // until the kernel has ended killed processes
constexpr std::chrono::milliseconds census_interval{200};
constexpr int max_misses = 5;  // kills in a row that find their process gone

/// An honest kernel and its verdict without faults.
struct HonestKernel {
  const Task* task = nullptr;
  const FileSet* files = nullptr;
  JudgedOutcome undisturbed;
  double took_ms = 0;
  bool refused = false;  // because its task was refused
};

std::vector<HonestKernel> honest_kernels(const FaultLoad& load) {
  std::vector<HonestKernel> all;
  const auto most = static_cast<size_t>(std::min(load.kernels, load.evaluations));
  for (size_t round = 0; all.size() < most; ++round) {
    const size_t before = all.size();
    for (const Task& task : load.tasks) {
      const auto& styles = load.sources.at(task.id);
      if (round < styles.size() && all.size() < most) all.push_back({&task, &styles[round]});
    }
    if (all.size() == before) break;
  }
  return all;
}

/// One run of honest evaluations and faults: the state that all slots share. Thread-safe.
class FaultRun {
 public:
  explicit FaultRun(const FaultLoad& load)
      : load_(load),
        kinds_(fault_kinds(load.contract)),
        task_(fault_task(load.contract)),
        honest_(honest_kernels(load)),
        nonce_(std::to_string(std::chrono::system_clock::now().time_since_epoch().count())) {}

  /// Judges every honest kernel once, spread over all slots, and checks the faults' task.
  void judge_undisturbed(FaultSlot& slot) {
    for (size_t i = next_honest_++; i <= honest_.size() && !stopped(); i = next_honest_++) {
      if (i == honest_.size()) return judge_fault_task(slot);
      HonestKernel& one = honest_[i];
      load_.progress(fmt::format("undisturbed {} of {}: {}", i + 1, honest_.size(), one.task->id));
      const auto result = slot.judge(*one.task, fresh(*one.task, *one.files));
      one.undisturbed = result.last;
      one.took_ms = result.took_ms;
      one.refused = one.undisturbed.outcome == to_string(InfraKind::task_refused);
      if (one.refused) continue;
      if (result.failures.size() > max_retries && !stopped()) {
        stop(one.task->id + ", undisturbed: " + one.undisturbed.outcome + ": " +
             one.undisturbed.text);
      }
    }
  }

  /// Drops the kernels of refused tasks; called after `judge_undisturbed`.
  void drop_refused() {
    for (const HonestKernel& one : honest_) {
      if (one.refused) figures_.refused[one.task->id] = one.undisturbed.text;
    }
    std::erase_if(honest_, [](const HonestKernel& one) { return one.refused; });
    if (honest_.empty()) stop("every task was refused");
  }

  /// Judges honest kernels until there are enough; with `until_all_done`, also enough faults.
  void judge_honest(FaultSlot& slot, bool until_all_done) {
    while (!(until_all_done ? all_done() : enough_honest()) && !stopped()) {
      const int64_t i = honest_begun_++;
      const HonestKernel& one = honest_[static_cast<size_t>(i) % honest_.size()];
      const int64_t begun = faults_begun_;
      const bool had_fault = active_faults_ > 0;
      const auto result = slot.judge(*one.task, fresh(*one.task, *one.files));
      count_honest(one, result, had_fault || faults_begun_ != begun);
    }
  }

  void inject_faults(FaultSlot& slot) {
    while (!all_done() && !stopped()) {
      const int64_t k = faults_begun_++;
      ++active_faults_;
      const FaultKind& kind = kind_of(k);
      if (kind.kills) {
        inject_kill(slot, kind, k);
      } else {
        inject_submission(slot, kind);
      }
      --active_faults_;
    }
  }

  ProcessCensus& census() { return census_; }
  FaultFigures take_figures() { return std::move(figures_); }
  const std::optional<Error>& failure() const { return failure_; }

 private:
  /// True after a failure or a request to stop. What caused the stop may have ended services too,
  /// so later results do not count.
  bool stopped() {
    const std::lock_guard lock{mutex_};
    stop_requested_ = stop_requested_ || load_.stop();
    return failure_ || stop_requested_;
  }
  bool enough_honest() {
    const std::lock_guard lock{mutex_};
    return figures_.honest >= load_.evaluations;
  }
  /// True once there are enough honest evaluations and enough faults.
  bool all_done() {
    const std::lock_guard lock{mutex_};
    return figures_.honest >= load_.evaluations && figures_.faults() >= load_.faults;
  }
  void stop(const std::string& why) {
    const std::lock_guard lock{mutex_};
    if (!failure_) failure_ = Error{ErrorCode::infrastructure, why};
  }

  /// Adds a comment that makes the text new to all caches.
  Submission fresh(const Task& task, FileSet files) {
    for (const char* name : {"kernel.cpp", "kernels.cu"}) {
      const auto file = files.find(name);
      if (file == files.end()) continue;
      file->second += "// " + nonce_ + ' ' + std::to_string(++texts_) + '\n';
    }
    return {task.id, load_.contract, std::move(files)};
  }

  void judge_fault_task(FaultSlot& slot) {
    const auto result = slot.judge(task_, fresh(task_, honest_fault_files(load_.contract)));
    if (result.last.outcome != "passed" && !stopped()) {
      stop("the faults' task: " + result.last.outcome + ": " + result.last.text);
    }
  }

  /// The kind of fault `k`: each kind once per round, in random order.
  const FaultKind& kind_of(int64_t k) const {
    std::vector<const FaultKind*> round(kinds_.size());
    std::ranges::transform(kinds_, round.begin(), [](const FaultKind& kind) { return &kind; });
    const auto at = static_cast<uint64_t>(k);
    RandomStream random(load_.seed, "fault kinds", at / round.size());
    std::shuffle(round.begin(), round.end(), random);
    return *round[at % round.size()];
  }

  void inject_submission(FaultSlot& slot, const FaultKind& kind) {
    const auto result = slot.judge(task_, fresh(task_, kind.files));
    const bool expected = std::ranges::any_of(kind.expected, [&](VerdictClass outcome) {
      return result.last.outcome == to_string(outcome);
    });
    if (!expected && stopped()) return;
    const std::lock_guard lock{mutex_};
    count_failures(result);
    count_kind(kind, result, expected);
    if (!expected) note_difference("fault " + kind.name, "an expected class", result.last);
  }

  void inject_kill(FaultSlot& slot, const FaultKind& kind, int64_t k) {
    RandomStream random(load_.seed, "strikes", static_cast<uint64_t>(k));
    const HonestKernel& one = honest_[random.below(honest_.size())];
    for (int misses = 0; misses < max_misses && !stopped(); ++misses) {
      // After a miss the next try is immediate: the process may exist only briefly.
      const double at_ms = misses == 0 ? 0.9 * random.uniform() * one.took_ms : 0;
      const auto result = slot.judge_with_kill(
          *one.task, fresh(*one.task, *one.files), *kind.kills,
          std::chrono::microseconds{static_cast<int64_t>(1000 * at_ms)}, census_);
      if (count_kill(kind, one, result)) return;
    }
  }

  /// Returns false if the process was already gone and the verdict is unchanged.
  bool count_kill(const FaultKind& kind, const HonestKernel& one, const FaultEvaluation& result) {
    const bool same = result.last.same_as(one.undisturbed);
    if (!same && stopped()) return true;
    const std::lock_guard lock{mutex_};
    count_failures(result);
    if (!same) {
      note_difference(one.task->id + ", " + kind.name, one.undisturbed.outcome, result.last);
    }
    if (!result.killed) ++figures_.missed;
    if (!result.killed && same) return false;
    ++figures_.killed;
    figures_.killed_equal += same ? 1 : 0;
    count_kind(kind, result, same);
    return true;
  }

  void count_honest(const HonestKernel& one, const FaultEvaluation& result, bool during_fault) {
    const bool same = result.last.same_as(one.undisturbed);
    if (!same && stopped()) return;
    const std::lock_guard lock{mutex_};
    count_failures(result);
    ++figures_.honest;
    figures_.honest_equal += same ? 1 : 0;
    figures_.beside_faults += during_fault ? 1 : 0;
    if (!same) note_difference(one.task->id, one.undisturbed.outcome, result.last);
    load_.progress(
        fmt::format("{} honest evaluations, {} faults", figures_.honest, figures_.faults()));
  }

  // Call these with the lock held.
  void count_failures(const FaultEvaluation& result) {
    figures_.repeats += static_cast<int64_t>(result.failures.size());
    for (const std::string& kind : result.failures) ++figures_.failures[kind];
  }
  void count_kind(const FaultKind& kind, const FaultEvaluation& result, bool expected) {
    KindFigures& figures = figures_.kinds[kind.name];
    ++figures.count;
    ++figures.got[result.last.outcome];
    figures.ms += result.all_ms;
    figures.unexpected += expected ? 0 : 1;
  }
  void note_difference(const std::string& what, const std::string& expected,
                       const JudgedOutcome& got) {
    figures_.differences.push_back(what + ": expected " + expected + ", got " + got.outcome + ": " +
                                   got.text);
  }

  const FaultLoad& load_;
  const std::vector<FaultKind> kinds_;
  const Task task_;
  std::vector<HonestKernel> honest_;
  std::string nonce_;  // of this run, so that no earlier run compiled the same text
  std::atomic<size_t> next_honest_{0};
  std::atomic<uint64_t> texts_{0};
  std::atomic<int64_t> honest_begun_{0}, faults_begun_{0}, active_faults_{0};
  ProcessCensus census_;
  std::mutex mutex_;
  FaultFigures figures_;
  std::optional<Error> failure_;
  bool stop_requested_ = false;
};

/// Records this process's descendants periodically, on its own thread.
std::jthread watch_processes(ProcessCensus& census) {
  return std::jthread([&census](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      census.add_descendants(::getpid());
      std::this_thread::sleep_for(census_interval);
    }
  });
}

/// Runs `work` on one thread per slot and joins them.
template <class Work>
void on_every_slot(std::vector<FaultSlot>& slots, const Work& work) {
  std::vector<std::jthread> threads;
  threads.reserve(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) threads.emplace_back([&, i] { work(slots[i], i); });
}

}  // namespace

Result<FaultFigures> run_faults(const std::vector<sandbox::SandboxOptions>& slots,
                                const FaultLoad& load) {
  const LeftoverCheck leftovers(slots.front().cache_dir, std::filesystem::temp_directory_path());
  FaultRun run(load);
  const auto begin = SteadyClock::now();
  {
    const std::jthread watch = watch_processes(run.census());
    std::vector<FaultSlot> services;
    services.reserve(slots.size());
    for (const auto& options : slots) services.emplace_back(options, load.ender);
    on_every_slot(services, [&](FaultSlot& slot, size_t) { run.judge_undisturbed(slot); });
    run.drop_refused();
    const size_t honest = slots.size() / 2;
    on_every_slot(services, [&](FaultSlot& slot, size_t i) {
      if (i < honest) run.judge_honest(slot, i == 0);
      run.inject_faults(slot);
    });
    run.census().add_descendants(::getpid());
  }
  if (run.failure()) return tl::unexpected(*run.failure());
  FaultFigures figures = run.take_figures();
  figures.seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  figures.processes_seen = static_cast<int64_t>(run.census().seen());
  figures.leftovers = leftovers.find(run.census(), Deadline::after(end_patience));
  return figures;
}

}  // namespace warpsmith::commands
