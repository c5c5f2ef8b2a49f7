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
#include "sandbox/failure/failure.hpp"
#include "sandbox/failure/time_limits.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// What the verifier does right before a call starts and right after it reports its end, for a
/// candidate that may have work resident on a device. The clock runs during both. The second one
/// waits while the device is still busy, so an early report gains nothing.
struct CallEdges {
  std::function<void()> reveal;  // before the ring
  std::function<void()> done;    // at `done`, before the stop
};

/// One timed call.
struct CallResult {
  std::chrono::nanoseconds elapsed{0};   // by the verifier's clock, raw: from the ring to `done`,
                                         // both edges included
  std::chrono::nanoseconds reveal{0};    // the part of `elapsed` that the first edge took
  std::chrono::nanoseconds sample{0};    // the part that the second edge took
  std::chrono::nanoseconds stop_gap{0};  // from the end until the stop was confirmed
  std::chrono::nanoseconds device{0};    // a GPU's time as the contestant reports it; else 0
  std::optional<Fault> fault;            // if set, the contestant is dead or must be dropped
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
  /// Takes a process that has `control`'s descriptor and enters the loop. Returns once the process
  /// answered a first no-op and is stopped.
  static OrFailure<Contestant> adopt(std::shared_ptr<JailedProcess> process, ControlMemory control,
                                     Patience patience);

  /// Measures the median time of no-ops. Call it before any code of a candidate is loaded.
  OrFailure<void> calibrate(int calls, Patience patience);
  /// Measures the median time of whole calls of trusted code, made like a candidate's. Call it
  /// after the other `calibrate`.
  OrFailure<void> calibrate(int calls, const CallEdges& edges, Patience patience);
  /// The time to subtract from `CallResult::elapsed`; zero before `calibrate`.
  std::chrono::nanoseconds noop() const { return noop_; }
  /// The time to subtract from `CallResult::device`: two events with nothing between them.
  std::chrono::nanoseconds device_noop() const { return device_noop_; }
  /// The parts of `noop` that the reveal takes, and that trusted code in the contestant takes.
  std::chrono::nanoseconds reveal() const { return reveal_; }
  std::chrono::nanoseconds own_work() const { return own_work_; }
  /// A reference worker's answer to the last call.
  uint32_t answer() const { return control_.page().answer; }
  /// What the contestant wrote about its last call, which failed: one line of printable text.
  std::string reported_text() const;

  /// Puts the candidate's own system call filter in force. Call it before any code of a candidate
  /// is loaded. `unsupported` if the machine lacks the filter.
  OrFailure<void> confine(Patience patience);
  /// Makes the candidate's code ready. The fault, if any, says why that fails.
  CallResult load(Patience patience);
  /// Several no-ops, right before a timed call: they wake what sleeps and fill the processor's
  /// caches. The last one measures what an empty call costs now. With full caches even the second
  /// no-op took up to 10 us longer than later ones.
  CallResult warm_up(Patience patience);
  /// One call on buffer set `set`. Reset the outputs and write the inputs first.
  CallResult call(uint32_t set, Patience patience, const CallEdges& edges = {});
  /// Makes a launcher that records kernels write its records to the memory for them.
  CallResult collect(Patience patience);
  /// Makes the launcher add the values of hardware counters. Call it after `collect`.
  CallResult count(Patience patience);
  /// Makes a launcher drop its plan, so that `confine` can hand it another one.
  CallResult release(Patience patience);
  /// Ends the loop; the process keeps running (the reference worker goes back to commands).
  OrFailure<void> leave(Patience patience);

  JailedProcess& process() { return *process_; }

 private:
  Contestant(std::shared_ptr<JailedProcess> process, ControlMemory control)
      : process_(std::move(process)), control_(std::move(control)) {}
  CallResult issue(Command command, uint32_t set, Patience patience, const CallEdges& edges = {});
  /// `issue`, with faults blamed on the candidate even before its code is loaded.
  CallResult exchange(Command command, uint32_t set, Patience patience, const CallEdges& edges);
  Fault fault_of_dead();
  std::optional<Fault> await_done(uint32_t number, Patience patience);

  std::shared_ptr<JailedProcess> process_;
  ControlMemory control_;
  uint32_t number_ = 0;  // of the last call
  bool runs_candidate_ = false;
  std::chrono::nanoseconds noop_{0}, device_noop_{0}, reveal_{0}, own_work_{0};
};

/// Pins the calling thread, and what it starts, to one core. The destructor restores the old mask.
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
