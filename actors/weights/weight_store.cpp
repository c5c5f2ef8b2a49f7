// SPDX-License-Identifier: Apache-2.0
#include "actors/weights/weight_store.hpp"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "runtime/bytes.hpp"

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

/// The number of pieces of a version; none is larger than `chunk_bytes`. They follow the order of
/// ModelWeights::parameters(), so both ends agree on the index.
uint32_t shard_count(const policy::ModelWeights& weights, uint64_t chunk_bytes) {
  uint64_t count = 0;
  for (const auto& [name, tensor] : weights.parameters()) count += pieces_of(tensor, chunk_bytes);
  return static_cast<uint32_t>(count);
}

/// Piece `index` of float32 weights. Requires index < shard_count.
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

}  // namespace

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

void WeightStoreState::start(Self self, uint64_t chunk_bytes) {
  self_ = self;
  chunk_bytes_ = chunk_bytes;
}

void WeightStoreState::publish(const LocalWeights& weights) {
  newest_ = weights;
  for (const GeneratorActor& generator : subscribers_) {
    self_->send<caf::message_priority::high>(generator, WeightsReady{newest_.version});
  }
}

void WeightStoreState::subscribe(atom::subscribe /*unused*/, const GeneratorActor& generator) {
  subscribers_.push_back(generator);
  self_->monitor(generator);
  if (newest_.weights) self_->send(generator, WeightsReady{newest_.version});
}

caf::result<LocalWeights> WeightStoreState::pull(atom::pull /*unused*/) {
  if (newest_.weights) return newest_;
  return to_caf({ErrorCode::not_found, "no weights were published yet"});
}

caf::result<WeightShard> WeightStoreState::pull_shard(atom::pull /*unused*/, PolicyVersion version,
                                                      uint32_t index) {
  if (!newest_.weights || version != newest_.version) {
    return to_caf({ErrorCode::stale,
                   fmt::format("version of step {} is no longer the newest", version.step)});
  }
  if (index >= shard_count(*newest_.weights, chunk_bytes_)) {
    return to_caf({ErrorCode::invalid_argument, "weight shard index beyond the last piece"});
  }
  return make_shard(*newest_.weights, version, index, chunk_bytes_);
}

void WeightStoreState::forget(const caf::actor_addr& generator) {
  std::erase_if(subscribers_, [&](const GeneratorActor& g) { return g.address() == generator; });
}

void WeightStoreState::describe(ActorStatus& status) const {
  status.phase = newest_.weights ? "serving" : "empty";
  status.gauges = {{"step", newest_.version.step},
                   {"subscribers", static_cast<double>(subscribers_.size())}};
}

LocalWeightStoreActor::behavior_type weight_store(WeightStoreState::Self self, Identity identity,
                                                  uint64_t chunk_bytes) {
  set_up_actor(self, std::move(identity));
  self->state.start(self, chunk_bytes);
  self->set_down_handler([self](const caf::down_msg& down) { self->state.forget(down.source); });
  return {on(self, "status", &WeightStoreState::status),
          on(self, "publish", &WeightStoreState::publish),
          on(self, "subscribe", &WeightStoreState::subscribe),
          on(self, "pull", &WeightStoreState::pull),
          on(self, "pull_shard", &WeightStoreState::pull_shard)};
}

}  // namespace warpsmith::actors
