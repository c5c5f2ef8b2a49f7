// SPDX-License-Identifier: Apache-2.0
#include "actors/learner/learner_front.hpp"

#include "actors/protocol/inspect.hpp"

namespace warpsmith::actors {

void LearnerFrontState::start(Self self, LearnerActor worker,
                              std::shared_ptr<const StatusBoard> board,
                              std::chrono::milliseconds patience) {
  self_ = self;
  worker_ = std::move(worker);
  board_ = std::move(board);
  patience_ = patience;
}

caf::result<ActorStatus> LearnerFrontState::status(atom::status /*unused*/) {
  auto newest = board_->newest();
  if (!newest || board_->handling() > patience_) {
    return self_->delegate(worker_, atom::status_v);
  }
  return std::move(*newest);
}

void LearnerFrontState::observe(const Segment& segment) {
  self_->send(worker_, segment);
}

void LearnerFrontState::close(const Closed& closed) {
  self_->send(worker_, closed);
}

void LearnerFrontState::drop(const Dropped& dropped) {
  self_->send(worker_, dropped);
}

caf::result<bool> LearnerFrontState::flush(atom::flush /*unused*/) {
  return self_->delegate(worker_, atom::flush_v);
}

caf::result<std::string> LearnerFrontState::checkpoint(atom::checkpoint /*unused*/) {
  return self_->delegate(worker_, atom::checkpoint_v);
}

LearnerActor::behavior_type learner_front(LearnerFrontState::Self self, Identity identity,
                                          const SpawnLearner& spawn,
                                          std::chrono::milliseconds patience) {
  adopt(self, std::move(identity));
  auto board = std::make_shared<StatusBoard>();
  auto worker = spawn(self, board);
  self->state.start(self, std::move(worker), std::move(board), patience);
  return {on(self, "status", &LearnerFrontState::status),
          on(self, "observe", &LearnerFrontState::observe),
          on(self, "close", &LearnerFrontState::close),
          on(self, "drop", &LearnerFrontState::drop),
          on(self, "flush", &LearnerFrontState::flush),
          on(self, "checkpoint", &LearnerFrontState::checkpoint)};
}

}  // namespace warpsmith::actors
