// SPDX-License-Identifier: Apache-2.0
// The learner as other actors see it: passes everything on to the learner that computes, and
// answers status requests for it, which would wait for seconds of computing otherwise.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "actors/base/actor_state.hpp"
#include "actors/base/status_board.hpp"
#include "actors/protocol/interfaces.hpp"

namespace warpsmith::actors {

class LearnerFrontState : public ActorState {
 public:
  using Self = LearnerActor::stateful_pointer<LearnerFrontState>;

  void start(Self self, LearnerActor worker, std::shared_ptr<const StatusBoard> board,
             std::chrono::milliseconds patience);
  /// Once the worker has been in one handler for longer than `patience`, the question goes to the
  /// worker itself, so that a stuck worker leaves it unanswered.
  caf::result<ActorStatus> status(atom::status);
  void observe(const Segment& segment);
  void close(const Closed& closed);
  void drop(const Dropped& dropped);
  caf::result<bool> flush(atom::flush);
  caf::result<std::string> checkpoint(atom::checkpoint);

 private:
  Self self_ = nullptr;
  LearnerActor worker_;
  std::shared_ptr<const StatusBoard> board_;
  std::chrono::milliseconds patience_{0};
};

/// Spawns the worker, linked to the front.
using SpawnLearner =
    std::function<LearnerActor(LearnerFrontState::Self front, std::shared_ptr<StatusBoard> board)>;

/// The front ends with the worker, for its reason, and the worker with the front.
LearnerActor::behavior_type learner_front(LearnerFrontState::Self self, Identity identity,
                                          const SpawnLearner& spawn,
                                          std::chrono::milliseconds patience);

}  // namespace warpsmith::actors
