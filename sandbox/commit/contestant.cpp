// SPDX-License-Identifier: Apache-2.0
#include "sandbox/commit/contestant.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <new>
#include <vector>

#include "runtime/text.hpp"
#include "sandbox/commit/control_page.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr int warm_up_noops = 4;
// How often a wait checks that the contestant still lives.
constexpr milliseconds slice{50};
constexpr uint64_t longest_call_ns = 86'400'000'000'000;  // a day; larger claims are cut
// A process stops within microseconds; a loaded machine needs longer.
constexpr seconds stop_patience{5};

std::string signal_text(int number) {
  const char* name = ::strsignal(number);
  return fmt::format("the process died of signal {} ({})", number,
                     name != nullptr ? name : "unknown");
}

/// What the contestant wrote about its failure, as one line of printable text.
std::string text_of(const ControlPage& page) {
  std::string text(page.text, ::strnlen(page.text, sizeof page.text));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = ' ';
  }
  return text.empty() ? "no reason given" : text;
}

/// The failing class that the contestant reported about itself, if any.
std::optional<Fault> fault_of(uint32_t status, const ControlPage& page) {
  switch (static_cast<RunnerStatus>(status)) {
    case RunnerStatus::ok:
      return std::nullopt;
    case RunnerStatus::load_failed:
      return Fault{VerdictClass::launch_error, "the shared object does not load"};
    case RunnerStatus::no_entry_point:
      return Fault{VerdictClass::launch_error, "the shared object lacks `solve`"};
    case RunnerStatus::failed:
      return Fault{VerdictClass::launch_error, "the call raised an error"};
    case RunnerStatus::not_confined:
      return Fault{VerdictClass::launch_error, "cannot be put in force"};
    case RunnerStatus::unlaunchable:
      return Fault{VerdictClass::launch_error, text_of(page)};
    case RunnerStatus::device_fault:
      return Fault{VerdictClass::device_fault, text_of(page)};
    case RunnerStatus::wrong_outputs:
      return Fault{VerdictClass::wrong, text_of(page)};
    case RunnerStatus::no_memory:
      return Fault{VerdictClass::out_of_memory, text_of(page)};
    case RunnerStatus::starting:
    case RunnerStatus::bad_order:
      break;
  }
  return Fault{VerdictClass::device_fault, "the kernel's process broke the protocol"};
}

nanoseconds middle_of(std::vector<nanoseconds>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

Result<ControlMemory> ControlMemory::create() {
  TRY(auto memory, MemoryFile::create("control", control_bytes));
  new (memory.bytes().data()) ControlPage{};
  return ControlMemory{std::move(memory)};
}

OrFailure<Contestant> Contestant::adopt(std::shared_ptr<JailedProcess> process,
                                        ControlMemory control, Patience patience) {
  Contestant made{std::move(process), std::move(control)};
  const CallResult first = made.issue(Command::noop, 0, patience);
  if (first.fault) return tl::unexpected(failure_of(*first.fault, "contestant did not start"));
  made.process_->park_monitor();
  return made;
}

OrFailure<void> Contestant::calibrate(int calls, Patience patience) {
  std::vector<nanoseconds> times, device;
  for (int i = 0; i < calls; ++i) {
    const CallResult result = issue(Command::noop, 0, patience);
    if (result.fault) return tl::unexpected(failure_of(*result.fault, "calibration"));
    times.push_back(result.elapsed);
    device.push_back(result.device);
  }
  if (times.empty()) return {};
  // The median, not the least: one call in thousands finds the other side awake and is faster than
  // usual. Subtracting its time would leave the difference in every measured time.
  noop_ = middle_of(times);
  device_noop_ = middle_of(device);
  return {};
}

OrFailure<void> Contestant::calibrate(int calls, const CallEdges& edges, Patience patience) {
  std::vector<nanoseconds> times, reveals, samples;
  for (int i = 0; i < calls; ++i) {
    const CallResult result = issue(Command::run, 0, patience, edges);
    if (result.fault) return tl::unexpected(failure_of(*result.fault, "calibration"));
    times.push_back(result.elapsed);
    reveals.push_back(result.reveal);
    samples.push_back(result.sample);
  }
  if (times.empty()) return {};
  const nanoseconds empty = noop_;
  noop_ = middle_of(times);
  reveal_ = middle_of(reveals);
  own_work_ = std::max(nanoseconds{0}, noop_ - empty - reveal_ - middle_of(samples));
  return {};
}

OrFailure<void> Contestant::confine(Patience patience) {
  const CallResult result = issue(Command::confine, 0, patience);
  if (!result.fault) return {};
  Failure failure = failure_of(*result.fault, "the candidate's system call filter");
  if (failure.code == ErrorCode::infrastructure) failure.code = ErrorCode::unsupported;
  return tl::unexpected(std::move(failure));
}

CallResult Contestant::load(Patience patience) {
  runs_candidate_ = true;
  return issue(Command::load, 0, patience);
}

CallResult Contestant::warm_up(Patience patience) {
  CallResult last;
  for (int i = 0; i < warm_up_noops && !last.fault; ++i) last = issue(Command::noop, 0, patience);
  return last;
}

CallResult Contestant::call(uint32_t set, Patience patience, const CallEdges& edges) {
  return issue(Command::run, set, patience, edges);
}

CallResult Contestant::collect(Patience patience) {
  return issue(Command::collect, 0, patience);
}

CallResult Contestant::count(Patience patience) {
  return issue(Command::count, 0, patience);
}

CallResult Contestant::release(Patience patience) {
  CallResult released = issue(Command::release, 0, patience);
  runs_candidate_ = released.fault.has_value();
  return released;
}

OrFailure<void> Contestant::leave(Patience patience) {
  const CallResult result = issue(Command::leave, 0, patience);
  if (result.fault) return tl::unexpected(failure_of(*result.fault, "leave"));
  TRY_VOID(process_->resume());
  return {};
}

std::optional<Fault> Contestant::await_done(uint32_t number, Patience patience) {
  const auto allowed = patience.by.left();
  const uint32_t& done = control_.page().done;
  for (uint32_t seen = load_word(done); seen != number; seen = load_word(done)) {
    const nanoseconds left = patience.by.at() - SteadyClock::now();
    if (left <= nanoseconds{0}) {
      (void)process_->kill();
      return Fault{VerdictClass::timeout,
                   "the kernel did not return within " + duration_text(allowed), patience.blame};
    }
    wait_while(done, seen, std::min<nanoseconds>(left, slice));
    if (load_word(done) != number && !process_->alive()) return fault_of_dead();
  }
  return std::nullopt;
}

CallResult Contestant::issue(Command command, uint32_t set, Patience patience,
                             const CallEdges& edges) {
  CallResult result = exchange(command, set, patience, edges);
  if (result.fault && result.fault->blame == Blame::candidate && !runs_candidate_) {
    result.fault->blame = Blame::machine;
  }
  return result;
}

CallResult Contestant::exchange(Command command, uint32_t set, Patience patience,
                                const CallEdges& edges) {
  CallResult result;
  if (!process_->alive()) {
    result.fault = fault_of_dead();
    return result;
  }
  ControlPage& page = control_.page();
  const uint32_t number = ++number_;
  page.command = static_cast<uint32_t>(command);
  page.set = set;
  page.status = static_cast<uint32_t>(RunnerStatus::starting);
  page.device_ns = 0;
  page.answer = 0;
  // The contestant is stopped. This erases an answer that it wrote in advance.
  store_word(page.done, number - 1);
  const auto start = SteadyClock::now();
  if (edges.reveal) {
    edges.reveal();
    result.reveal = SteadyClock::now() - start;
  }
  store_word(page.ring, number);
  if (number > 1) (void)process_->resume();
  wake_one(page.ring);
  result.fault = await_done(number, patience);
  if (result.fault) return result;
  if (edges.done) {
    const auto rung = SteadyClock::now();
    edges.done();
    result.sample = SteadyClock::now() - rung;
  }
  const auto done = SteadyClock::now();
  const auto stopped = process_->stop(Deadline::after(stop_patience));
  result.elapsed = done - start;
  result.device = nanoseconds{static_cast<int64_t>(std::min(page.device_ns, longest_call_ns))};
  result.stop_gap = SteadyClock::now() - done;
  if (!process_->alive()) {
    result.fault = fault_of_dead();
  } else if (!stopped) {  // no process can refuse this signal
    (void)process_->kill();
    result.fault = Fault{VerdictClass::device_fault, stopped.error().message, Blame::machine};
  } else {
    result.fault = fault_of(page.status, page);
  }
  return result;
}

std::string Contestant::reported_text() const {
  return text_of(control_.page());
}

Fault Contestant::fault_of_dead() {
  const auto hint = static_cast<FaultHint>(control_.page().hint);
  const JailExit exit = process_->kill();
  if (exit.out_of_memory) {
    return {VerdictClass::out_of_memory, "the kernel's process exceeded its memory limit"};
  }
  if (exit.signal == SIGXCPU) {
    return {VerdictClass::timeout, "the kernel used up its CPU time"};
  }
  if (exit.killed_from_outside) {
    return {VerdictClass::device_fault, "something outside killed the process", Blame::machine};
  }
  if (exit.signal != 0 && hint == FaultHint::wrote_input) {
    return {VerdictClass::input_mutated, "the kernel wrote to a read-only input"};
  }
  if (exit.signal != 0 && hint == FaultHint::near_output) {
    return {VerdictClass::oob_write, "the kernel wrote beyond its outputs"};
  }
  if (exit.signal != 0 && hint == FaultHint::no_memory) {
    return {VerdictClass::out_of_memory, "the kernel asked for more memory than its limit"};
  }
  if (exit.signal != 0) return {VerdictClass::device_fault, signal_text(exit.signal)};
  return {VerdictClass::device_fault,
          fmt::format("the process exited with code {}", exit.exit_code)};
}

CorePin::CorePin(int core) {
  cpu_set_t before;
  if (::sched_getaffinity(0, sizeof before, &before) != 0) return;
  before_.resize(sizeof before / sizeof(uint64_t));
  std::memcpy(before_.data(), &before, sizeof before);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(core), &one);
  in_force_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
}

CorePin::~CorePin() {
  if (!in_force_) return;
  cpu_set_t before;
  std::memcpy(&before, before_.data(), sizeof before);
  (void)::sched_setaffinity(0, sizeof before, &before);
}

}  // namespace warpsmith::sandbox
