// SPDX-License-Identifier: Apache-2.0
// The page that a contestant shares with the verifier, and the futex calls on its words: the
// protocol of the sequential commit.
//
// A contestant is any jailed process that runs this loop (little-endian u32 at the given offsets):
//
//   seen = 0
//   for ever:
//     while page.ring == seen: futex_wait(&page.ring, seen)      shared futex, no time-out
//     seen = page.ring
//     status = carry out page.command on buffer set page.set
//     page.status = status
//     page.done = seen; futex_wake(&page.done, 1)
//     if the command was `leave`: end the loop
//
// A contestant that works on a GPU also writes, before `status`, how long the device took:
// page.device_ns, between two events on a stream that only trusted code uses. A `noop` there
// measures as a `run` does, with nothing between the events.
//
// The first answer (to a `noop`) says that the contestant is ready. The contestant is stopped
// (SIGSTOP, confirmed) whenever the verifier writes inputs or reads outputs. It can write the whole
// page, so nothing read from it is ever used by the verifier as an index, a length or a pointer:
// `done` is compared for equality, `status` and `hint` choose among texts and failing verdicts,
// `device_ns` is checked against the verifier's clock, `text` is shown as text, cut and cleaned.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace warpsmith::sandbox {

inline constexpr uint32_t control_magic = 0x50435357;  // "WSCP"
inline constexpr uint32_t control_version = 2;
inline constexpr size_t control_bytes = 4096;

enum class Command : uint32_t {
  noop = 1,     // answer at once: calibration and readiness
  load = 2,     // make the candidate's code ready (dlopen); also: run an untimed warm-up
  run = 3,      // one call on buffer set `set`
  leave = 4,    // answer, then end the loop
  confine = 5,  // put the candidate's own filter in force, before `load`
  collect = 6,  // for a launcher that records kernels: write the records of all runs, once
  release = 7,  // for a launcher: drop the plan; the next `confine` takes another one
  count = 8,    // for a launcher after `collect`: write the hardware counters of one call
};

/// What the contestant says about itself. Only an accusation of itself is used.
enum class RunnerStatus : uint32_t {
  starting = 0,
  ok = 1,
  load_failed = 2,     // the artefact does not load
  no_entry_point = 3,  // it lacks `solve`
  bad_order = 4,       // unknown command or set
  failed = 5,          // the call raised (reference worker)
  not_confined = 6,    // the candidate's own filter is not in force
  unlaunchable = 7,    // the device refuses a launch of the plan; `text` says what
  device_fault = 8,    // the device reported an error of the candidate's kernels
  wrong_outputs = 9,   // wrong count, shape or type; `text` says which
  no_memory = 10,      // an allocation was refused
};

/// What the contestant's own signal handler saw before the process died. It chooses among failing
/// classes only.
enum class FaultHint : uint32_t {
  none = 0,
  wrote_input = 1,
  near_output = 2,
  elsewhere = 3,
  no_memory = 4,  // after an allocation that was refused
};

struct ControlPage {
  uint32_t magic = control_magic;      //  0
  uint32_t version = control_version;  //  4
  uint32_t ring = 0;                   //  8  futex word, verifier → contestant: call number
  uint32_t done = 0;                   // 12  futex word, contestant → verifier: last call answered
  uint32_t command = 0;                // 16  Command
  uint32_t set = 0;                    // 20  buffer set of the call
  uint32_t status = 0;                 // 24  RunnerStatus of the last call
  uint32_t hint = 0;                   // 28  FaultHint
  uint64_t device_ns = 0;              // 32  of the last call on a GPU; else 0
  uint32_t answer = 0;                 // 40  of the reference worker: 1 if a mutant applies
  uint32_t reserved[5] = {};           // 44
  char text[256] = {};                 // 64  why the last call failed, ends with a zero
};
static_assert(offsetof(ControlPage, ring) == 8 && offsetof(ControlPage, done) == 12 &&
              offsetof(ControlPage, hint) == 28 && offsetof(ControlPage, device_ns) == 32 &&
              offsetof(ControlPage, answer) == 40 && offsetof(ControlPage, text) == 64);

// Futex operations on the words that the processes share.

/// Acquire load of a shared word.
uint32_t load_word(const uint32_t& word);
/// Release store to a shared word.
void store_word(uint32_t& word, uint32_t value);

/// Sleeps while `word` holds `value`, for at most `span`; may return early. Only a contestant,
/// which the verifier can kill, may pass no span.
void wait_while(const uint32_t& word, uint32_t value, std::optional<std::chrono::nanoseconds> span);
/// Wakes one sleeper.
void wake_one(uint32_t& word);

}  // namespace warpsmith::sandbox
