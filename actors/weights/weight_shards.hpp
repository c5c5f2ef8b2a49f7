// SPDX-License-Identifier: Apache-2.0
// A version of the weights as pieces for the wire, and back. The pieces follow the order of
// ModelWeights::parameters(), so both ends agree on the index.
#pragma once

#include <cstdint>

#include "actors/protocol/messages.hpp"
#include "policy/model/weights.hpp"

namespace warpsmith::actors {

/// Pieces that a version is cut into; none is larger than `chunk_bytes`.
uint32_t shard_count(const policy::ModelWeights& weights, uint64_t chunk_bytes);

/// Piece `index`. Requires index < shard_count and float32 weights on the CPU.
WeightShard make_shard(const policy::ModelWeights& weights, PolicyVersion version, uint32_t index,
                       uint64_t chunk_bytes);

/// Copies a piece into weights of the same model. `corrupt` or `parse_failed` names what is off.
Result<void> apply_shard(const WeightShard& shard, policy::ModelWeights& weights);

}  // namespace warpsmith::actors
