// SPDX-License-Identifier: Apache-2.0
#include "actors/ledger/conservation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

namespace warpsmith::actors {
namespace {

std::string name_of(TrajectoryId id) {
  return fmt::format("trajectory {}", id);
}

std::string words(const LedgerEntry& entry) {
  switch (entry.phase) {
    case TrajectoryPhase::open:
      return fmt::format("is open with {} segments", entry.segments);
    case TrajectoryPhase::closed:
      return "is closed";
    case TrajectoryPhase::stepped:
      return fmt::format("was used by step {}", entry.step);
    case TrajectoryPhase::trained:
      return fmt::format("is trained (step {})", entry.step);
    case TrajectoryPhase::dropped:
      return "was dropped (" + std::string(to_string(entry.reason)) + ")";
  }
  return "is in no phase";
}

tl::unexpected<Error> unknown(TrajectoryId id) {
  return fail(ErrorCode::not_found, name_of(id) + " was never admitted");
}

tl::unexpected<Error> refused(std::string_view what, TrajectoryId id, const LedgerEntry& entry) {
  return fail(ErrorCode::invalid_argument,
              std::string(what) + ": " + name_of(id) + ' ' + words(entry));
}

}  // namespace

uint64_t ConservationCounts::in_flight() const {
  return untrained() + of(TrajectoryPhase::stepped);
}

bool ConservationCounts::is_conserved() const {
  const uint64_t reasons =
      std::accumulate(dropped_by_reason.begin(), dropped_by_reason.end(), uint64_t{0});
  return admitted == trained() + dropped() + in_flight() && reasons == dropped();
}

Conservation::Conservation(std::vector<LedgerEntry> entries, uint32_t durable_step,
                           uint32_t last_step)
    : entries_(std::move(entries)), durable_step_(durable_step), last_step_(last_step) {
  counts_.admitted = entries_.size();
  for (const LedgerEntry& entry : entries_) {
    ++counts_.by_phase[static_cast<size_t>(entry.phase)];
    if (entry.phase == TrajectoryPhase::dropped) {
      ++counts_.dropped_by_reason[static_cast<size_t>(entry.reason)];
    }
  }
}

LedgerEntry* Conservation::find(TrajectoryId id) {
  return was_admitted(id) ? &entries_[id - 1] : nullptr;
}

void Conservation::move(LedgerEntry& entry, TrajectoryPhase to) {
  --counts_.by_phase[static_cast<size_t>(entry.phase)];
  entry.phase = to;
  ++counts_.by_phase[static_cast<size_t>(to)];
}

TrajectoryId Conservation::admit() {
  entries_.emplace_back();
  ++counts_.admitted;
  ++counts_.by_phase[static_cast<size_t>(TrajectoryPhase::open)];
  return entries_.size();
}

Result<Change> Conservation::append(TrajectoryId id, uint32_t number) {
  LedgerEntry* entry = find(id);
  if (entry == nullptr) return unknown(id);
  if (entry->phase == TrajectoryPhase::dropped) return refused("append", id, *entry);
  if (number < entry->segments) return Change::already;
  if (entry->phase != TrajectoryPhase::open) return refused("append", id, *entry);
  if (number > entry->segments) {
    return fail(ErrorCode::invalid_argument, fmt::format("append: {} expects segment {}, got {}",
                                                         name_of(id), entry->segments, number));
  }
  ++entry->segments;
  return Change::made;
}

Result<Change> Conservation::close(TrajectoryId id) {
  LedgerEntry* entry = find(id);
  if (entry == nullptr) return unknown(id);
  if (entry->phase == TrajectoryPhase::dropped) return refused("close", id, *entry);
  if (entry->phase != TrajectoryPhase::open) return Change::already;
  move(*entry, TrajectoryPhase::closed);
  return Change::made;
}

Result<Change> Conservation::drop(TrajectoryId id, DropReason reason) {
  LedgerEntry* entry = find(id);
  if (entry == nullptr) return unknown(id);
  if (entry->phase == TrajectoryPhase::dropped) return Change::already;
  if (entry->phase != TrajectoryPhase::open && entry->phase != TrajectoryPhase::closed) {
    return refused("drop", id, *entry);
  }
  move(*entry, TrajectoryPhase::dropped);
  entry->reason = reason;
  ++counts_.dropped_by_reason[static_cast<size_t>(reason)];
  return Change::made;
}

Result<Change> Conservation::check_trainable(uint32_t step, std::span<const TrajectoryId> ids) {
  size_t repeated = 0;
  for (const TrajectoryId id : ids) {
    const LedgerEntry* entry = find(id);
    if (entry == nullptr) return unknown(id);
    const bool used =
        entry->phase == TrajectoryPhase::stepped || entry->phase == TrajectoryPhase::trained;
    if (used && entry->step == step) {
      ++repeated;
    } else if (entry->phase != TrajectoryPhase::closed) {
      return refused("train", id, *entry);
    }
  }
  if (repeated == 0) return Change::made;
  if (repeated == ids.size()) return Change::already;
  return fail(ErrorCode::invalid_argument,
              fmt::format("train: step {} used {} of {} already", step, repeated, ids.size()));
}

Result<Change> Conservation::train(uint32_t step, std::span<const TrajectoryId> ids) {
  std::vector<TrajectoryId> unique(ids.begin(), ids.end());
  std::sort(unique.begin(), unique.end());
  if (std::adjacent_find(unique.begin(), unique.end()) != unique.end()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("train: step {} names a trajectory twice", step));
  }
  Result<Change> allowed = check_trainable(step, ids);
  if (!allowed || (*allowed == Change::already)) return allowed;
  if (ids.empty() && step == last_step_) return Change::already;
  if (step <= last_step_) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("train: step {} is over; expected at least {}", step, last_step_ + 1));
  }
  for (const TrajectoryId id : ids) {
    LedgerEntry& entry = entries_[id - 1];
    move(entry, TrajectoryPhase::stepped);
    entry.step = step;
  }
  last_step_ = step;
  return Change::made;
}

Result<Change> Conservation::checkpointed(uint32_t step) {
  if (step <= durable_step_) return Change::already;
  if (step > last_step_) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("checkpoint of step {}: the ledger has steps up to {}", step, last_step_));
  }
  durable_step_ = step;
  for (LedgerEntry& entry : entries_) {
    if (entry.phase == TrajectoryPhase::stepped && entry.step <= step) {
      move(entry, TrajectoryPhase::trained);
    }
  }
  return Change::made;
}

Result<uint64_t> Conservation::restore(uint32_t step) {
  if (step > last_step_) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format(
            "restore: checkpoint of step {} is ahead of the ledger, which has steps up to {}", step,
            last_step_));
  }
  uint64_t returned = 0;
  for (LedgerEntry& entry : entries_) {
    const bool used =
        entry.phase == TrajectoryPhase::stepped || entry.phase == TrajectoryPhase::trained;
    if (!used) continue;
    const bool survives = entry.step <= step;
    move(entry, survives ? TrajectoryPhase::trained : TrajectoryPhase::closed);
    if (!survives) {
      entry.step = 0;
      ++returned;
    }
  }
  durable_step_ = step;
  last_step_ = step;
  return returned;
}

std::vector<TrajectoryId> Conservation::in_phase(TrajectoryPhase phase) const {
  std::vector<TrajectoryId> ids;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].phase == phase) ids.push_back(i + 1);
  }
  return ids;
}

}  // namespace warpsmith::actors
