// SPDX-License-Identifier: Apache-2.0
// The verifier's side of the sequential commit: one contestant, stopped except while it is timed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/process/memory_file.hpp"
#include "runtime/result.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/commit/control_page.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// Why a contestant is of no further use: a failing verdict class and one short sentence.
struct Fault {
  VerdictClass outcome = VerdictClass::device_fault;
  std::string detail;
  bool ours = false;  // something outside killed it: no verdict may rest on that
};

/// The fault of a process that runs no candidate's code: a failure of ours. `timeout` where our
/// deadline cut the call.
Error error_of(const Fault& fault, const std::string& what);

/// What the verifier does at the two edges of a call, for a candidate that may have work resident
/// on a device. The clock runs at both: a device that is busy with a candidate that rang early
/// makes the second wait.
struct CallEdges {
  std::function<void()> reveal;  // before the ring
  std::function<void()> done;    // at `done`, the stop is yet to come
};

/// One timed call.
struct CallResult {
  std::chrono::nanoseconds elapsed{0};   // raw: from the ring to `done`, by our clock; with what
                                         // the edges do
  std::chrono::nanoseconds reveal{0};    // the part of it that revealing took
  std::chrono::nanoseconds sample{0};    // the part of it behind `done`
  std::chrono::nanoseconds stop_gap{0};  // from its end until the stop was confirmed
  std::chrono::nanoseconds device{0};    // what the contestant says that a GPU took; 0 elsewhere
  std::optional<Fault> fault;            // then the contestant is dead or must be dropped
};

/// The control page in memory that a contestant can map.
class ControlMemory {
 public:
  static Result<ControlMemory> create();
  ControlPage& page() const { return *reinterpret_cast<ControlPage*>(memory_.bytes().data()); }
  int fd() const { return memory_.fd(); }

 private:
  explicit ControlMemory(MemoryFile memory) : memory_(std::move(memory)) {}
  MemoryFile memory_;
};

/// A jailed process that runs the loop of control_page.hpp. Between calls it is stopped: only then
/// write inputs and read outputs. Not thread-safe; the calling thread shares the contestant's core.
class Contestant {
 public:
  /// Takes a process that was given `control`'s descriptor and enters (or will enter) the loop;
  /// returns once it answered a first no-op and is stopped.
  static Result<Contestant> adopt(std::shared_ptr<JailedProcess> process, ControlMemory control,
                                  Deadline deadline);

  /// Answers of no-ops, before any code of a candidate is loaded: keeps their median.
  Result<void> calibrate(int calls, Deadline deadline);
  /// The same of whole calls of our own code, as a candidate's are made: keeps their median. After
  /// the other `calibrate`.
  Result<void> calibrate(int calls, const CallEdges& edges, Deadline deadline);
  /// To be subtracted from `CallResult::elapsed`; zero before `calibrate`.
  std::chrono::nanoseconds noop() const { return noop_; }
  /// To be subtracted from `CallResult::device`: two events with nothing between them.
  std::chrono::nanoseconds device_noop() const { return device_noop_; }
  /// The parts of `noop` that revealing takes, and what the contestant does beside an empty call.
  std::chrono::nanoseconds reveal() const { return reveal_; }
  std::chrono::nanoseconds own_work() const { return own_work_; }
  /// What a reference worker answered to the last call.
  uint32_t answer() const { return control_.page().answer; }
  /// What one wrote about its last call, which failed: one line of printable text.
  std::string said() const;

  /// Puts the candidate's own system call filter in force, before any code of a candidate is
  /// loaded: where that fails the machine lacks it (`unsupported`).
  Result<void> confine(Deadline deadline);
  /// Makes the candidate's code ready. A fault says why it cannot be.
  CallResult load(Deadline deadline);
  /// Several answers to nothing, right before a timed call: what then has to be woken is awake, the
  /// processor's caches hold what a call needs, and the last tells what an empty call costs just
  /// now. Where others press on those caches, the second still took up to 10 us longer than a call.
  CallResult rouse(Deadline deadline);
  /// One call on buffer set `set`. Reset the outputs and write the inputs first.
  CallResult call(uint32_t set, Deadline deadline, const CallEdges& edges = {});
  /// Has a launcher that records kernels leave what it recorded in its memory for that.
  CallResult collect(Deadline deadline);
  /// Has it add what hardware counters say, after `collect`.
  CallResult count(Deadline deadline);
  /// Has a launcher let go of its plan, so that `confine` can hand it another.
  CallResult release(Deadline deadline);
  /// Ends the loop and leaves the process running (the reference worker goes on with commands).
  Result<void> leave(Deadline deadline);

  JailedProcess& process() { return *process_; }

 private:
  Contestant(std::shared_ptr<JailedProcess> process, ControlMemory control)
      : process_(std::move(process)), control_(std::move(control)) {}
  CallResult issue(Command command, uint32_t set, Deadline deadline, const CallEdges& edges = {});
  Fault fault_of_dead();
  std::optional<Fault> await_done(uint32_t number, Deadline deadline);

  std::shared_ptr<JailedProcess> process_;
  ControlMemory control_;
  uint32_t number_ = 0;  // of the last call
  std::chrono::nanoseconds noop_{0}, device_noop_{0}, reveal_{0}, own_work_{0};
};

/// Pins the calling thread (and what it spawns) to one core while it lives.
class CorePin {
 public:
  explicit CorePin(int core);
  ~CorePin();
  CorePin(const CorePin&) = delete;
  CorePin& operator=(const CorePin&) = delete;
  bool in_force() const { return in_force_; }

 private:
  std::vector<uint64_t> before_;
  bool in_force_ = false;
};

}  // namespace warpsmith::sandbox
