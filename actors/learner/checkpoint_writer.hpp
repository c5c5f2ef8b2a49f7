// SPDX-License-Identifier: Apache-2.0
// Writes checkpoints while the learner goes on. The learner spawns it, sends one snapshot at a time
// and ends with it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "actors/base/actor_state.hpp"
#include "actors/protocol/local_messages.hpp"
#include "runtime/run/checkpoint.hpp"

namespace warpsmith::actors {

struct CheckpointPlace {
  std::shared_ptr<const CheckpointStore> store;
  /// Files of the model that training does not change (tokenizer), copied into every checkpoint.
  std::function<Result<void>(const std::filesystem::path&)> copy_fixed_files;
};

class CheckpointWriterState : public ActorState {
 public:
  using Self = CheckpointWriterActor::stateful_pointer<CheckpointWriterState>;

  void start(CheckpointPlace place) { place_ = std::move(place); }
  caf::result<std::string> write(const LocalSnapshot& taken);

 private:
  CheckpointPlace place_;
};

CheckpointWriterActor::behavior_type checkpoint_writer(CheckpointWriterState::Self self,
                                                       Identity identity, CheckpointPlace place);

}  // namespace warpsmith::actors
