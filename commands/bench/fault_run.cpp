// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/fault_run.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include "commands/bench/fault_slot.hpp"
#include "commands/bench/remains.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::commands {
namespace {

constexpr std::chrono::seconds end_patience{10};  // until the kernel has ended killed processes
constexpr std::chrono::milliseconds census_every{200};
constexpr int max_misses = 5;  // kills in a row that find their process gone

/// One honest kernel and its verdict without faults.
struct Honest {
  const Task* task = nullptr;
  const FileSet* files = nullptr;
  JudgedOutcome undisturbed;
  double took_ms = 0;
  bool refused = false;  // because its task was refused
};

std::vector<Honest> honest_kernels(const FaultLoad& load) {
  std::vector<Honest> all;
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

/// The state that all slots share.
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
    for (size_t i = next_++; i <= honest_.size() && !ended(); i = next_++) {
      if (i == honest_.size()) return judge_fault_task(slot);
      Honest& one = honest_[i];
      load_.progress("undisturbed " + std::to_string(i + 1) + " of " +
                     std::to_string(honest_.size()) + ": " + one.task->id);
      const auto answer = slot.judge(*one.task, fresh(*one.task, *one.files));
      one.undisturbed = answer.last;
      one.took_ms = answer.took_ms;
      one.refused = one.undisturbed.outcome == to_string(InfraKind::task_refused);
      if (one.refused) continue;
      if (answer.failures.size() > max_retries && !ended()) {
        stop(one.task->id + ", undisturbed: " + one.undisturbed.outcome + ": " +
             one.undisturbed.text);
      }
    }
  }

  /// Drops the kernels of refused tasks; called after `judge_undisturbed`.
  void leave_out_refused() {
    for (const Honest& one : honest_) {
      if (one.refused) figures_.refused[one.task->id] = one.undisturbed.text;
    }
    std::erase_if(honest_, [](const Honest& one) { return one.refused; });
    if (honest_.empty()) stop("every task was refused");
  }

  /// Judges honest kernels until there are enough; with `to_the_end`, also enough faults.
  void judge_honest(FaultSlot& slot, bool to_the_end) {
    while (!(to_the_end ? over() : enough_honest()) && !ended()) {
      const int64_t i = honest_begun_++;
      const Honest& one = honest_[static_cast<size_t>(i) % honest_.size()];
      const int64_t begun = faults_begun_;
      const bool in_hand = faults_in_hand_ > 0;
      const auto answer = slot.judge(*one.task, fresh(*one.task, *one.files));
      count_honest(one, answer, in_hand || faults_begun_ != begun);
    }
  }

  void meet_faults(FaultSlot& slot) {
    while (!over() && !ended()) {
      const int64_t k = faults_begun_++;
      ++faults_in_hand_;
      const FaultKind& kind = kind_of(k);
      if (kind.strikes) {
        strike(slot, kind, k);
      } else {
        submit(slot, kind);
      }
      --faults_in_hand_;
    }
  }

  ProcessCensus& census() { return census_; }
  FaultFigures take_figures() { return std::move(figures_); }
  const std::optional<Error>& failure() const { return failure_; }

 private:
  /// True after a failure or a request to stop. The cause of the stop may have ended services too,
  /// so answers from then on do not count.
  bool ended() {
    const std::lock_guard lock{mutex_};
    stopped_ = stopped_ || load_.stop();
    return failure_ || stopped_;
  }
  bool enough_honest() {
    const std::lock_guard lock{mutex_};
    return figures_.honest >= load_.evaluations;
  }
  /// True once there are enough honest evaluations and enough faults.
  bool over() {
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
      file->second += "// " + nonce_ + ' ' + std::to_string(++made_) + '\n';
    }
    return {task.id, load_.contract, std::move(files)};
  }

  void judge_fault_task(FaultSlot& slot) {
    const auto answer = slot.judge(task_, fresh(task_, honest_fault_files(load_.contract)));
    if (answer.last.outcome != "passed" && !ended()) {
      stop("the faults' task: " + answer.last.outcome + ": " + answer.last.text);
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

  void submit(FaultSlot& slot, const FaultKind& kind) {
    const auto answer = slot.judge(task_, fresh(task_, kind.files));
    const bool expected = std::ranges::any_of(kind.expected, [&](VerdictClass outcome) {
      return answer.last.outcome == to_string(outcome);
    });
    if (!expected && ended()) return;
    const std::lock_guard lock{mutex_};
    note(answer);
    count_kind(kind, answer, expected);
    if (!expected) differs("fault " + kind.name, "an expected class", answer.last);
  }

  void strike(FaultSlot& slot, const FaultKind& kind, int64_t k) {
    RandomStream random(load_.seed, "strikes", static_cast<uint64_t>(k));
    const Honest& one = honest_[random.below(honest_.size())];
    for (int misses = 0; misses < max_misses && !ended(); ++misses) {
      // After a miss the next try is immediate: the process may exist only briefly.
      const double at_ms = misses == 0 ? 0.9 * random.uniform() * one.took_ms : 0;
      const auto answer =
          slot.judge_struck(*one.task, fresh(*one.task, *one.files), *kind.strikes,
                            std::chrono::microseconds{static_cast<int64_t>(1000 * at_ms)}, census_);
      if (count_struck(kind, one, answer)) return;
    }
  }

  /// Returns false if the process was already gone and the verdict is unchanged.
  bool count_struck(const FaultKind& kind, const Honest& one, const FaultSlot::Answer& answer) {
    const bool same = answer.last.same_as(one.undisturbed);
    if (!same && ended()) return true;
    const std::lock_guard lock{mutex_};
    note(answer);
    if (!same) differs(one.task->id + ", " + kind.name, one.undisturbed.outcome, answer.last);
    if (!answer.hit) ++figures_.missed;
    if (!answer.hit && same) return false;
    ++figures_.struck;
    figures_.struck_equal += same ? 1 : 0;
    count_kind(kind, answer, same);
    return true;
  }

  void count_honest(const Honest& one, const FaultSlot::Answer& answer, bool beside_fault) {
    const bool same = answer.last.same_as(one.undisturbed);
    if (!same && ended()) return;
    const std::lock_guard lock{mutex_};
    note(answer);
    ++figures_.honest;
    figures_.honest_equal += same ? 1 : 0;
    figures_.beside_faults += beside_fault ? 1 : 0;
    if (!same) differs(one.task->id, one.undisturbed.outcome, answer.last);
    load_.progress(std::to_string(figures_.honest) + " honest evaluations, " +
                   std::to_string(figures_.faults()) + " faults");
  }

  // Call these with the lock held.
  void note(const FaultSlot::Answer& answer) {
    figures_.repeats += static_cast<int64_t>(answer.failures.size());
    for (const std::string& kind : answer.failures) ++figures_.failures[kind];
  }
  void count_kind(const FaultKind& kind, const FaultSlot::Answer& answer, bool expected) {
    KindFigures& figures = figures_.kinds[kind.name];
    ++figures.count;
    ++figures.got[answer.last.outcome];
    figures.ms += answer.all_ms;
    figures.unexpected += expected ? 0 : 1;
  }
  void differs(const std::string& what, const std::string& expected, const JudgedOutcome& got) {
    figures_.differences.push_back(what + ": expected " + expected + ", got " + got.outcome + ": " +
                                   got.text);
  }

  const FaultLoad& load_;
  const std::vector<FaultKind> kinds_;
  const Task task_;
  std::vector<Honest> honest_;
  std::string nonce_;  // of this run, so that no earlier run compiled the same text
  std::atomic<size_t> next_{0};
  std::atomic<uint64_t> made_{0};
  std::atomic<int64_t> honest_begun_{0}, faults_begun_{0}, faults_in_hand_{0};
  ProcessCensus census_;
  std::mutex mutex_;
  FaultFigures figures_;
  std::optional<Error> failure_;
  bool stopped_ = false;
};

/// Takes a census of this process's descendants now and then.
std::jthread watch_processes(ProcessCensus& census) {
  return std::jthread([&census](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      census.look(::getpid());
      std::this_thread::sleep_for(census_every);
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
  const RemainsWatch remains(slots.front().cache_dir, std::filesystem::temp_directory_path());
  FaultRun run(load);
  const auto begin = SteadyClock::now();
  {
    const std::jthread watch = watch_processes(run.census());
    std::vector<FaultSlot> services;
    services.reserve(slots.size());
    for (const auto& options : slots) services.emplace_back(options, load.ender);
    on_every_slot(services, [&](FaultSlot& slot, size_t) { run.judge_undisturbed(slot); });
    run.leave_out_refused();
    const size_t honest = slots.size() / 2;
    on_every_slot(services, [&](FaultSlot& slot, size_t i) {
      if (i < honest) run.judge_honest(slot, i == 0);
      run.meet_faults(slot);
    });
    run.census().look(::getpid());
  }
  if (run.failure()) return tl::unexpected(*run.failure());
  FaultFigures figures = run.take_figures();
  figures.seconds = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  figures.processes_seen = static_cast<int64_t>(run.census().seen());
  figures.remains = remains.look(run.census(), Deadline::after(end_patience));
  return figures;
}

}  // namespace warpsmith::commands
