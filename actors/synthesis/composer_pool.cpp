// SPDX-License-Identifier: Apache-2.0
#include "actors/synthesis/composer_pool.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "actors/base/actor_state.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "runtime/message_text.hpp"
#include "runtime/run/durable_file.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::actors {
namespace {

constexpr uint64_t ahead_of_each = 8;  // candidates per composer that may wait for an earlier one

/// Throws ActorFailure: without a record, a resumed run would miss tasks of its trajectories.
template <class T>
T or_end(Result<T> result) {
  if (!result) throw ActorFailure(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace

void ComposerPool::start(SynthesisSelf::pointer self, ActorState& state,
                         ComposerPoolSettings settings, Accepted accepted) {
  self_ = self;
  state_ = &state;
  settings_ = std::move(settings);
  accepted_ = std::move(accepted);
  if (settings_.candidates == 0) return;
  journal_ = or_end(
      synthesis::CompositionJournal::open(settings_.folder / "journal.jsonl", settings_.origin));
  order_.emplace(settings_.candidates, ahead_of_each * settings_.composers, journal_->earlier());
  for (const synthesis::Composition& one : journal_->earlier()) {
    funnel_.add(one);
    hand_over(one);
  }
  if (funnel_.candidates > 0) write_funnel();
}

void ComposerPool::peers(const std::vector<ComposerActor>& composers) {
  composers_ = composers;
  std::erase_if(composers_,
                [&](const ComposerActor& c) { return abandoned_composers_.contains(c.address()); });
  std::erase_if(in_flight_, [&](const auto& entry) {
    const auto here = [&](const ComposerActor& c) { return c.address() == entry.first; };
    const bool gone = std::ranges::none_of(composers_, here);
    if (gone && order_) order_->give_back(entry.second);
    return gone;
  });
}

void ComposerPool::dispatch() {
  for (const ComposerActor& composer : composers_) {
    if (done() || in_flight_.contains(composer.address()) || is_resting(composer.address()))
      continue;
    const auto index = order_->next();
    if (!index) return;
    request(*index, composer);
  }
}

bool ComposerPool::is_resting(const caf::actor_addr& composer) {
  const auto found = resting_.find(composer);
  if (found == resting_.end()) return false;
  if (self_->clock().now() < found->second) return true;
  resting_.erase(found);
  return false;
}

void ComposerPool::request(uint64_t index, const ComposerActor& composer) {
  const caf::actor_addr at = composer.address();
  in_flight_[at] = index;
  ask(self_, *state_, "composed", composer, settings_.timeout, atom::compose_v, index)
      .then(
          [this, at](synthesis::Composition& found) { composition_arrived(at, std::move(found)); },
          [this, at](const caf::error& error) { composer_failed(at, error); });
}

void ComposerPool::composition_arrived(const caf::actor_addr& composer,
                                       synthesis::Composition composition) {
  const auto found = in_flight_.find(composer);
  if (found != in_flight_.end() && found->second == composition.index) in_flight_.erase(found);
  if (!order_) return;
  order_->arrived(std::move(composition));
  commit();
  self_->send(self_, atom::step_v);
}

/// Another composer gets the candidate. A composer that lost its node, or waits for it, is asked
/// again later; a dead one is replaced when the supervisor sends its successor.
void ComposerPool::composer_failed(const caf::actor_addr& composer, const caf::error& error) {
  const Error cause = from_caf(error);
  const bool waits = cause.code == ErrorCode::capacity || cause.code == ErrorCode::peer_lost;
  const auto found = in_flight_.find(composer);
  if (found == in_flight_.end()) return;
  if (order_) order_->give_back(found->second);
  in_flight_.erase(found);
  if (waits && !receiver_is_gone(error)) {
    resting_[composer] = self_->clock().now() + settings_.rest;
    self_->send(self_, atom::step_v);
    self_->delayed_send(self_, settings_.rest, atom::step_v);
    return;
  }
  log::warn(state_->label() + ": a composer failed: " + cause.message);
  std::erase_if(composers_, [&](const ComposerActor& c) { return c.address() == composer; });
  if (cause.code == ErrorCode::process_failed && !receiver_is_gone(error))
    abandon_composer(composer, cause);
}

/// A dead composer gets a successor; one that abandoned its node does not.
void ComposerPool::abandon_composer(const caf::actor_addr& composer, const Error& cause) {
  abandoned_composers_.insert(composer);
  if (abandoned_composers_.size() < settings_.composers || done()) return;
  abandoned_ = Error{cause.code, "no composer is left; the last: " + cause.message};
  self_->send(self_, atom::step_v);
}

void ComposerPool::commit() {
  const uint64_t before = funnel_.candidates;
  while (const auto composition = order_->commit()) {
    or_end(journal_->add(*composition));
    funnel_.add(*composition);
    hand_over(*composition);
    if (!composition->accepted()) {
      log::info(fmt::format("{}: candidate {}: {} {}", state_->label(), composition->index,
                            composition->reason, one_line(composition->detail)));
    }
  }
  if (funnel_.candidates > before) write_funnel();
}

void ComposerPool::write_funnel() {
  or_end(write_file_whole(settings_.folder / synthesis::funnel_file, to_json(funnel_) + '\n'));
}

void ComposerPool::hand_over(const synthesis::Composition& composition) {
  if (!composition.accepted()) return;
  const auto file = settings_.folder / "tasks" / (composition.id + ".py");
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (!std::filesystem::exists(file, error)) or_end(write_file_whole(file, composition.code));
  auto task = synthesis::load_task(file);
  if (!task) return log::warn(state_->label() + ": composed task: " + task.error().message);
  task->ops = composition.ops;
  accepted_(std::move(*task));
}

}  // namespace warpsmith::actors
