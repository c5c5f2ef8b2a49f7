// SPDX-License-Identifier: Apache-2.0
#include "actors/weights/weight_shards.hpp"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "runtime/checksum.hpp"

namespace warpsmith::actors {
namespace {

uint64_t pieces_of(const at::Tensor& tensor, uint64_t chunk_bytes) {
  return std::max<uint64_t>(1, (tensor.nbytes() + chunk_bytes - 1) / chunk_bytes);
}

uint64_t checksum_of(const ByteBuffer& bytes) {
  return checksum64(std::string_view{bytes.data(), bytes.size()});
}

Result<void> check(const WeightShard& shard, const at::Tensor& into) {
  if (shard.checksum != checksum_of(shard.bytes)) {
    return fail(ErrorCode::corrupt, "weight shard " + shard.name + ": checksum does not match");
  }
  if (shard.shape != into.sizes().vec()) {
    return fail(ErrorCode::parse_failed, "weight shard " + shard.name + ": another shape");
  }
  if (shard.offset > into.nbytes() || shard.bytes.size() > into.nbytes() - shard.offset) {
    return fail(ErrorCode::parse_failed, "weight shard " + shard.name + ": outside its tensor");
  }
  return {};
}

}  // namespace

uint32_t shard_count(const policy::ModelWeights& weights, uint64_t chunk_bytes) {
  uint64_t count = 0;
  for (const auto& [name, tensor] : weights.parameters()) count += pieces_of(tensor, chunk_bytes);
  return static_cast<uint32_t>(count);
}

WeightShard make_shard(const policy::ModelWeights& weights, PolicyVersion version, uint32_t index,
                       uint64_t chunk_bytes) {
  uint64_t before = 0;
  for (const auto& [name, tensor] : weights.parameters()) {
    const uint64_t pieces = pieces_of(tensor, chunk_bytes);
    if (index >= before + pieces) {
      before += pieces;
      continue;
    }
    const uint64_t offset = (index - before) * chunk_bytes;
    const uint64_t size = std::min<uint64_t>(chunk_bytes, tensor.nbytes() - offset);
    // A learner on a GPU publishes tensors there; only this piece is copied to the host.
    const at::Tensor piece =
        tensor.view({-1})
            .view(at::kByte)
            .narrow(0, static_cast<int64_t>(offset), static_cast<int64_t>(size))
            .cpu();
    const auto* data = static_cast<const char*>(piece.const_data_ptr());
    WeightShard shard{version,
                      index,
                      shard_count(weights, chunk_bytes),
                      name,
                      tensor.sizes().vec(),
                      offset,
                      ByteBuffer(data, data + size),
                      0};
    shard.checksum = checksum_of(shard.bytes);
    return shard;
  }
  throw std::out_of_range("weight shard index beyond the last piece");
}

Result<void> apply_shard(const WeightShard& shard, policy::ModelWeights& weights) {
  for (auto& [name, tensor] : weights.parameters()) {
    if (name != shard.name) continue;
    if (auto fits = check(shard, tensor); !fits) return fits;
    auto* into = static_cast<char*>(tensor.mutable_data_ptr()) + shard.offset;
    std::ranges::copy(shard.bytes, into);
    return {};
  }
  return fail(ErrorCode::parse_failed, "weight shard " + shard.name + ": no such parameter");
}

}  // namespace warpsmith::actors
