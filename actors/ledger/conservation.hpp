// SPDX-License-Identifier: Apache-2.0
// The ledger's pure core: the phase of every trajectory, under the law
// admitted = trained + dropped(reason) + in flight.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/result.hpp"
#include "runtime/trajectory.hpp"

namespace warpsmith::actors {

/// The phase of a trajectory; the comment says what comes next.
enum class TrajectoryPhase : uint8_t {
  open,     // in flight: its rollout appends segments, then closes or drops it
  closed,   // in flight: it has its outcome; the learner trains it
  stepped,  // in flight: an optimiser step used it; the next durable checkpoint makes it trained
  trained,  // ended: a checkpoint that includes its step is durable
  dropped,  // ended: left with a reason
};
inline constexpr size_t trajectory_phase_count = 5;

/// The ledger's state of one trajectory.
struct LedgerEntry {
  TrajectoryPhase phase = TrajectoryPhase::open;
  DropReason reason = DropReason::cancelled;  // meaningful when dropped
  uint32_t segments = 0;                      // recorded ones, numbered 0 … segments − 1
  uint32_t step = 0;                          // of its training; meaningful when stepped or trained

  bool operator==(const LedgerEntry&) const = default;
};
static_assert(sizeof(LedgerEntry) == 12);

/// Numbers of trajectories.
struct ConservationCounts {
  uint64_t admitted = 0;
  std::array<uint64_t, trajectory_phase_count> by_phase{};
  std::array<uint64_t, enum_names<DropReason>.size()> dropped_by_reason{};

  uint64_t of(TrajectoryPhase phase) const { return by_phase[static_cast<size_t>(phase)]; }
  uint64_t trained() const { return of(TrajectoryPhase::trained); }
  uint64_t dropped() const { return of(TrajectoryPhase::dropped); }
  uint64_t in_flight() const;
  /// Admitted, not dropped, and not yet used by an optimiser step.
  uint64_t untrained() const { return of(TrajectoryPhase::open) + of(TrajectoryPhase::closed); }
  /// True if every admitted trajectory is counted once and every drop has one reason.
  bool is_conserved() const;

  bool operator==(const ConservationCounts&) const = default;
};

/// The effect of a request. A repeated request is not an error, because answers can get lost.
enum class Change : uint8_t { made, already };

/// A state machine over trajectories 1, 2, 3 … in order of admission. Refusals are
/// `invalid_argument` (or `not_found` for an id never admitted) and change nothing.
/// Memory: 12 bytes per trajectory of the run.
class Conservation {
 public:
  Conservation() = default;
  /// From a run database: entry i is trajectory i + 1.
  Conservation(std::vector<LedgerEntry> entries, uint32_t durable_step, uint32_t last_step);

  TrajectoryId admit();
  /// `already` for a number below the recorded count; a gap is refused.
  Result<Change> append(TrajectoryId id, uint32_t number);
  Result<Change> close(TrajectoryId id);
  /// The first reason is kept. Refused once a step has used the trajectory.
  Result<Change> drop(TrajectoryId id, DropReason reason);
  /// Optimiser step `step` used these closed trajectories: all of them, or none on refusal. Steps
  /// must increase (gaps are allowed). The same whole call again is `already`.
  Result<Change> train(uint32_t step, std::span<const TrajectoryId> ids);
  /// The checkpoint of `step` is durable: trajectories stepped up to it become trained.
  Result<Change> checkpointed(uint32_t step);
  /// The run resumes from the checkpoint of `step`: trajectories that later steps used become
  /// closed again, even those that a newer checkpoint (since lost or corrupt) had made trained.
  /// Returns their number.
  Result<uint64_t> restore(uint32_t step);

  bool was_admitted(TrajectoryId id) const { return id >= 1 && id <= entries_.size(); }
  /// Requires was_admitted(id).
  const LedgerEntry& at(TrajectoryId id) const { return entries_.at(id - 1); }
  const ConservationCounts& counts() const { return counts_; }
  /// In order of admission.
  std::vector<TrajectoryId> in_phase(TrajectoryPhase phase) const;
  uint32_t durable_step() const { return durable_step_; }
  /// The newest step of the surviving lineage.
  uint32_t last_step() const { return last_step_; }

 private:
  LedgerEntry* find(TrajectoryId id);
  void move(LedgerEntry& entry, TrajectoryPhase to);
  Result<Change> check_trainable(uint32_t step, std::span<const TrajectoryId> ids);

  std::vector<LedgerEntry> entries_;
  ConservationCounts counts_;
  uint32_t durable_step_ = 0;
  uint32_t last_step_ = 0;
};

}  // namespace warpsmith::actors
