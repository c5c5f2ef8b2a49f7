// SPDX-License-Identifier: Apache-2.0
#include "actors/synthesis/composing.hpp"

#include <algorithm>

#include "actors/base/ask.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "runtime/one_line.hpp"
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

void Composing::start(SynthesisSelf::pointer self, ActorState& state, ComposingSettings settings,
                      Accepted accepted) {
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

void Composing::peers(const std::vector<ComposerActor>& composers) {
  composers_ = composers;
  std::erase_if(composers_,
                [&](const ComposerActor& c) { return without_node_.contains(c.address()); });
  std::erase_if(under_way_, [&](const auto& entry) {
    const auto here = [&](const ComposerActor& c) { return c.address() == entry.first; };
    const bool gone = std::ranges::none_of(composers_, here);
    if (gone && order_) order_->give_back(entry.second);
    return gone;
  });
}

void Composing::go_on() {
  for (const ComposerActor& composer : composers_) {
    if (done() || under_way_.contains(composer.address()) || rests(composer.address())) continue;
    const auto index = order_->next();
    if (!index) return;
    ask_for(*index, composer);
  }
}

bool Composing::rests(const caf::actor_addr& composer) {
  const auto found = resting_.find(composer);
  if (found == resting_.end()) return false;
  if (self_->clock().now() < found->second) return true;
  resting_.erase(found);
  return false;
}

void Composing::ask_for(uint64_t index, const ComposerActor& composer) {
  const caf::actor_addr at = composer.address();
  under_way_[at] = index;
  ask(self_, *state_, "composed", composer, settings_.timeout, atom::compose_v, index)
      .then([this, at](synthesis::Composition& found) { arrived(at, std::move(found)); },
            [this, at](const caf::error& error) { lost(at, error); });
}

void Composing::arrived(const caf::actor_addr& composer, synthesis::Composition composition) {
  const auto found = under_way_.find(composer);
  if (found != under_way_.end() && found->second == composition.index) under_way_.erase(found);
  if (!order_) return;
  order_->arrived(std::move(composition));
  commit();
  self_->send(self_, atom::step_v);
}

/// Another composer gets the candidate. One that lost its node, or waits for it, is asked again
/// later; one that is gone when the supervisor sends its successor.
void Composing::lost(const caf::actor_addr& composer, const caf::error& error) {
  const Error cause = from_caf(error);
  const bool waits = cause.code == ErrorCode::capacity || cause.code == ErrorCode::peer_lost;
  const auto found = under_way_.find(composer);
  if (found == under_way_.end()) return;
  if (order_) order_->give_back(found->second);
  under_way_.erase(found);
  if (waits && !receiver_is_gone(error)) {
    resting_[composer] = self_->clock().now() + settings_.rest;
    self_->send(self_, atom::step_v);
    self_->delayed_send(self_, settings_.rest, atom::step_v);
    return;
  }
  log::warn(state_->label() + ": a composer failed: " + cause.message);
  std::erase_if(composers_, [&](const ComposerActor& c) { return c.address() == composer; });
  if (cause.code == ErrorCode::process_failed && !receiver_is_gone(error)) give_up(composer, cause);
}

/// A composer that ended has a successor; one that gave up its node has none.
void Composing::give_up(const caf::actor_addr& composer, const Error& cause) {
  without_node_.insert(composer);
  if (without_node_.size() < settings_.composers || done()) return;
  abandoned_ = Error{cause.code, "no composer is left; the last: " + cause.message};
  self_->send(self_, atom::step_v);
}

void Composing::commit() {
  const uint64_t before = funnel_.candidates;
  while (const auto composition = order_->commit()) {
    or_end(journal_->add(*composition));
    funnel_.add(*composition);
    hand_over(*composition);
    if (!composition->accepted()) {
      log::info(state_->label() + ": candidate " + std::to_string(composition->index) + ": " +
                composition->reason + ' ' + one_line(composition->detail));
    }
  }
  if (funnel_.candidates > before) write_funnel();
}

void Composing::write_funnel() {
  or_end(write_file_whole(settings_.folder / synthesis::funnel_file, to_json(funnel_) + '\n'));
}

void Composing::hand_over(const synthesis::Composition& composition) {
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
