// SPDX-License-Identifier: Apache-2.0
// The shared memory for judging one task (inputs, each party's outputs, references) and the
// verifier's operations on it. A CPU slot uses the host's memory (host_bench.hpp), a GPU slot the
// device's (gpu/gpu_bench.hpp).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/judge/ingest_record.hpp"
#include "sandbox/judge/keystream.hpp"
#include "sandbox/judge/numerics.hpp"
#include "sandbox/judge/stage.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {

/// What one call's contents are generated from.
struct Contents {
  const StreamKey& key;
  uint64_t number = 0;  // of the contents within the key; new contents always get a new number
  Distribution distribution = Distribution::dense;
};

/// The party whose outputs are meant.
enum class Side : uint8_t { candidate, worker };

/// One party's outputs of a set.
struct Outputs {
  Side side = Side::candidate;
  uint32_t set = 0;
};

/// Use it only while contestants are stopped. On a GPU every member may throw cuda::DeviceError;
/// the process must then be replaced.
class Bench {
 public:
  Bench() = default;
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  virtual ~Bench() = default;

  virtual const TaskSignature& signature() const = 0;
  virtual const BufferLayout& layout() const = 0;
  uint32_t sets() const { return layout().sets; }
  /// The memory that the candidate's process receives.
  virtual CandidateMemory candidate_memory() const = 0;
  /// A stage hides these sets from the candidate until its clock runs.
  virtual Result<std::unique_ptr<CandidateStage>> make_stage() const = 0;
  /// The memory that the reference worker receives.
  virtual SessionMemory session_memory() const = 0;

  /// Writes the inputs and parameters of a set.
  virtual void fill(uint32_t set, const Contents& contents, std::span<const InputRule> rules) = 0;
  /// Copies one set's inputs and parameters into another. The contestants of a block share contents
  /// that are generated once; each gets them just before its call. Neither set stays in a
  /// processor's caches: otherwise a candidate that sees both would find the earlier one there.
  virtual void copy_inputs(uint32_t from, uint32_t to) = 0;
  /// Copies the worker's integer and boolean inputs and parameters into a set.
  virtual void take_drawn(uint32_t set, std::span<const InputRule> rules) = 0;
  /// Prepares for another candidate: erases everything that an earlier one wrote.
  virtual void renew() = 0;
  /// Poisons the candidate's outputs in a set and fills the rest of it with guards. Where device
  /// code can reach other sets, erases what earlier calls wrote there.
  virtual void reset(uint32_t set) = 0;

  /// Hash of every input and parameter of a set, to detect changes; not cryptographic.
  virtual uint64_t inputs_hash(uint32_t set) = 0;
  /// False if anything but the candidate's outputs of the set changed.
  virtual bool guards_intact(uint32_t set) = 0;
  /// False if memory that the candidate can write outside all sets has changed since `renew`. It
  /// may be large, so check it once for many calls.
  virtual bool rest_intact() = 0;

  /// Compares all outputs of a set with the worker's reference in the result memory.
  virtual ErrorStats compare_with_reference(Side side, uint32_t set, const BoundRule& rule) = 0;
  /// Copies the worker's outputs of a set to the candidate's, to compare two answers of the worker.
  /// Only at ingest, where there is no candidate.
  virtual void keep_outputs(uint32_t set) = 0;
  /// Sets S by position for `compare_outputs`, one list per output (see `profile_block_of`).
  virtual void use_profiles(const std::vector<std::vector<float>>& profiles) = 0;
  /// Compares all outputs with those of a baseline.
  virtual ErrorStats compare_outputs(Outputs outputs, Outputs baseline, const BoundRule& rule) = 0;
  /// Raises `profiles` (created if empty) to the spreads in the result memory, block by block.
  virtual void raise_profiles(std::vector<std::vector<float>>& profiles) = 0;
};

}  // namespace warpsmith::sandbox
