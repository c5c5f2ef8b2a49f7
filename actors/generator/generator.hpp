// SPDX-License-Identifier: Apache-2.0
// Generator: one inference engine on its own thread. Owns the sessions' KV caches; spawned and
// watched by the supervisor; bounded by the engine's sessions and cache (then error capacity). A
// handler runs at most one decode step. On a GPU it computes only while it holds a share of it, and
// releases the share between two steps when a measurement needs the GPU. Newer weights come by
// reference within a process, in pieces from another node. When it dies, rollouts send whole
// prefixes to another generator.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "actors/base/actor_state.hpp"
#include "actors/base/gpu_share.hpp"
#include "actors/protocol/interfaces.hpp"
#include "policy/generate/cuda/cuda_engine.hpp"
#include "policy/generate/engine/engine.hpp"
#include "policy/model/config.hpp"
#include "policy/model/weights.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

struct GeneratorSettings {
  policy::ModelConfig model;
  policy::EngineConfig engine;
  std::optional<policy::CudaEngineOptions> gpu;     // empty: on the CPU
  std::string shared_device;                        // held in shares; empty: that of `gpu`, if any
  std::string lease_folder = default_lease_folder;  // of the shares
  policy::SamplingParams sampling;                  // max_tokens and stream are set per call
  size_t chunk_tokens = 16;                         // sampled tokens per message
  std::chrono::milliseconds pull_timeout{30'000};
};

GeneratorSettings generator_settings(const RunConfig& config, const policy::ModelConfig& model,
                                     std::vector<int32_t> stop_tokens);

/// The generator with its message to itself, which runs one decode step and is sent while there is
/// work.
using GeneratorSelf = GeneratorActor::extend<caf::reacts_to<atom::step>>;

class GeneratorState : public ActorState {
 public:
  using Self = GeneratorSelf::stateful_pointer<GeneratorState>;

  void start(Self self, GeneratorSettings settings, WeightStoreActor store);
  void weights_ready(const WeightsReady& ready);
  void release(atom::release, TrajectoryId session);
  void step(atom::step);
  caf::result<bool> generate(const GenerateCall& call);

 private:
  struct Stream {
    TokenReaderActor reader;
    TokenChunk chunk;  // sampled since the last message
  };
  struct Newest {
    PolicyVersion version;
    std::shared_ptr<const policy::ModelWeights> weights;
  };
  /// A version that is being copied from another node.
  struct Pull {
    PolicyVersion version;
    std::shared_ptr<policy::ModelWeights> weights;
    uint32_t next = 0;
  };

  void describe(ActorStatus& status) const override;
  void schedule_step(std::chrono::milliseconds delay = {});
  bool hold_share();
  void release_share();
  void add_sampled(const policy::EngineOutput& sampled);

  // Newer weights
  bool has_version(PolicyVersion version) const;
  void pull_by_reference(PolicyVersion version);
  void pull_shard();
  void shard_arrived(const WeightShard& shard);
  void weights_arrived(Newest newest);
  void load_newest();

  Self self_ = nullptr;
  GeneratorSettings settings_;
  WeightStoreActor store_;
  std::unique_ptr<policy::Engine> engine_;
  std::optional<DeviceShare> share_;
  std::map<TrajectoryId, Stream> streams_;
  std::optional<Pull> pull_;
  std::optional<Newest> newest_;  // not loaded yet
  bool loaded_ = false;
  bool scheduled_ = false;  // a step message is in the mailbox
  double pause_ms_ = 0;     // time that sequences waited for the newest weights
};

GeneratorSelf::behavior_type generator(GeneratorState::Self self, Identity identity,
                                       GeneratorSettings settings, WeightStoreActor store);

}  // namespace warpsmith::actors
