// SPDX-License-Identifier: Apache-2.0
#include "actors/weights/weight_store.hpp"

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/weights/weight_shards.hpp"

namespace warpsmith::actors {

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
                   "version of step " + std::to_string(version.step) + " is no longer the newest"});
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
  adopt(self, std::move(identity));
  self->state.start(self, chunk_bytes);
  self->set_down_handler([self](const caf::down_msg& down) { self->state.forget(down.source); });
  return {on(self, "status", &WeightStoreState::status),
          on(self, "publish", &WeightStoreState::publish),
          on(self, "subscribe", &WeightStoreState::subscribe),
          on(self, "pull", &WeightStoreState::pull),
          on(self, "pull_shard", &WeightStoreState::pull_shard)};
}

}  // namespace warpsmith::actors
