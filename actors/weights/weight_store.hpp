// SPDX-License-Identifier: Apache-2.0
// WeightStore: the newest weights, by reference for the actors of this process, in pieces (shards)
// for those of other nodes. Owns a reference to one version (readers keep older ones alive by their
// own references); spawned and watched by the supervisor; bounded by that one version. When it
// dies, the run stops and can resume from its last checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "actors/base/actor_state.hpp"
#include "actors/protocol/local_messages.hpp"
#include "actors/protocol/messages.hpp"
#include "policy/model/weights.hpp"
#include "runtime/policy_version.hpp"

namespace warpsmith::actors {

/// Where the weights of this incarnation come from.
struct Origin {
  PolicyVersion version;             // (incarnation, step)
  std::filesystem::path checkpoint;  // empty: the model's own folder
};

/// Copies a piece into weights of the same model. `corrupt` or `parse_failed` names the fault.
Result<void> apply_shard(const WeightShard& shard, policy::ModelWeights& weights);

class WeightStoreState : public ActorState {
 public:
  using Self = LocalWeightStoreActor::stateful_pointer<WeightStoreState>;

  void start(Self self, uint64_t chunk_bytes);
  void publish(const LocalWeights& weights);
  void subscribe(atom::subscribe, const GeneratorActor& generator);
  caf::result<LocalWeights> pull(atom::pull);
  caf::result<WeightShard> pull_shard(atom::pull, PolicyVersion version, uint32_t index);
  /// Removes a subscriber that has ended.
  void forget(const caf::actor_addr& generator);

 private:
  void describe(ActorStatus& status) const override;

  Self self_ = nullptr;
  uint64_t chunk_bytes_ = 0;
  LocalWeights newest_;
  std::vector<GeneratorActor> subscribers_;
};

LocalWeightStoreActor::behavior_type weight_store(WeightStoreState::Self self, Identity identity,
                                                  uint64_t chunk_bytes);

}  // namespace warpsmith::actors
