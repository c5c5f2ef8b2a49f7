// SPDX-License-Identifier: Apache-2.0
// The synthesis's side of composing: asks composers for candidates, and keeps what they found, in
// order and on disk.
#pragma once

#include <caf/actor_addr.hpp>
#include <caf/actor_clock.hpp>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/base/actor_state.hpp"
#include "actors/protocol/interfaces.hpp"
#include "runtime/result.hpp"
#include "synthesis/composition_journal.hpp"
#include "synthesis/composition_order.hpp"
#include "synthesis/funnel.hpp"

namespace warpsmith::actors {

struct ComposingSettings {
  uint64_t candidates = 0;       // 0: nothing is composed
  std::filesystem::path folder;  // of the journal, the funnel, and the tasks as files
  std::string origin;            // what decides the candidates, on one line of JSON
  size_t composers = 0;
  std::chrono::milliseconds timeout{7'200'000};  // of one request, with the worker's start
  std::chrono::milliseconds rest{5'000};         // of a composer that has no node now
};

/// The synthesis with its message to itself: ingest the next tasks.
using SynthesisSelf = SynthesisActor::extend<caf::reacts_to<atom::step>>;

/// Used by one synthesis actor alone. A task is on disk before `accepted` gets it, so that a
/// trajectory's task is there again after a resume.
class Composing {
 public:
  using Accepted = std::function<void(Task)>;

  /// Hands over the tasks of an earlier process. Throws ActorFailure if the journal cannot be read.
  void start(SynthesisSelf::pointer self, ActorState& state, ComposingSettings settings,
             Accepted accepted);
  /// The composers from now on; candidates of those that are gone are composed again.
  void peers(const std::vector<ComposerActor>& composers);
  /// Gives every idle composer a candidate.
  void go_on();
  /// Composes no more; called when the pool is full.
  void stop() { order_.reset(); }

  /// Set once every composer has given up the node that it works on, and candidates are left.
  const std::optional<Error>& abandoned() const { return abandoned_; }
  bool done() const { return !order_ || order_->done(); }
  uint64_t accepted() const { return order_ ? order_->accepted() : 0; }
  uint64_t candidates() const { return order_ ? order_->committed() : 0; }

 private:
  void ask_for(uint64_t index, const ComposerActor& composer);
  void arrived(const caf::actor_addr& composer, synthesis::Composition composition);
  void lost(const caf::actor_addr& composer, const caf::error& error);
  bool rests(const caf::actor_addr& composer);
  void give_up(const caf::actor_addr& composer, const Error& cause);
  void commit();
  void write_funnel();
  void hand_over(const synthesis::Composition& composition);

  SynthesisSelf::pointer self_ = nullptr;
  ActorState* state_ = nullptr;
  ComposingSettings settings_;
  Accepted accepted_;
  std::optional<synthesis::CompositionJournal> journal_;
  std::optional<synthesis::CompositionOrder> order_;
  synthesis::Funnel funnel_;
  std::vector<ComposerActor> composers_;
  std::set<caf::actor_addr> without_node_;  // composers that gave it up
  std::optional<Error> abandoned_;
  std::map<caf::actor_addr, uint64_t> under_way_;                    // by composer, one each
  std::map<caf::actor_addr, caf::actor_clock::time_point> resting_;  // until when; by composer
};

}  // namespace warpsmith::actors
