// SPDX-License-Identifier: Apache-2.0
// Manages the composers for the synthesis: hands out candidates, and keeps the results in order and
// on disk.
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

struct ComposerPoolSettings {
  uint64_t candidates = 0;       // 0: nothing is composed
  std::filesystem::path folder;  // of the journal, the funnel, and the tasks as files
  std::string origin;            // the inputs that determine the candidates, on one line of JSON
  size_t composers = 0;
  std::chrono::milliseconds timeout{7'200'000};  // of one request, including the worker's start
  std::chrono::milliseconds rest{5'000};         // of a composer whose node is away
};

/// The synthesis with its message to itself: ingest the next tasks.
using SynthesisSelf = SynthesisActor::extend<caf::reacts_to<atom::step>>;

/// Used by one synthesis actor. A task is on disk before `accepted` gets it, so that a resumed
/// trajectory finds its task again.
class ComposerPool {
 public:
  using Accepted = std::function<void(Task)>;

  /// Hands over the tasks of an earlier process. Throws ActorFailure if the journal cannot be read.
  void start(SynthesisSelf::pointer self, ActorState& state, ComposerPoolSettings settings,
             Accepted accepted);
  /// Sets the composers; candidates of composers that are gone are composed again.
  void peers(const std::vector<ComposerActor>& composers);
  /// Gives every idle composer a candidate.
  void dispatch();
  /// Stops composing; called when the pool of tasks is full.
  void stop() { order_.reset(); }

  /// Set once every composer has abandoned its node while candidates are left.
  const std::optional<Error>& abandoned() const { return abandoned_; }
  bool done() const { return !order_ || order_->done(); }
  uint64_t accepted() const { return order_ ? order_->accepted() : 0; }
  uint64_t candidates() const { return order_ ? order_->committed() : 0; }

 private:
  void request(uint64_t index, const ComposerActor& composer);
  void composition_arrived(const caf::actor_addr& composer, synthesis::Composition composition);
  void composer_failed(const caf::actor_addr& composer, const caf::error& error);
  bool is_resting(const caf::actor_addr& composer);
  void abandon_composer(const caf::actor_addr& composer, const Error& cause);
  void commit();
  void write_funnel();
  void hand_over(const synthesis::Composition& composition);

  SynthesisSelf::pointer self_ = nullptr;
  ActorState* state_ = nullptr;
  ComposerPoolSettings settings_;
  Accepted accepted_;
  std::optional<synthesis::CompositionJournal> journal_;
  std::optional<synthesis::CompositionOrder> order_;
  synthesis::Funnel funnel_;
  std::vector<ComposerActor> composers_;
  std::set<caf::actor_addr> abandoned_composers_;  // that abandoned their node
  std::optional<Error> abandoned_;
  std::map<caf::actor_addr, uint64_t> in_flight_;                    // by composer, one each
  std::map<caf::actor_addr, caf::actor_clock::time_point> resting_;  // until when; by composer
};

}  // namespace warpsmith::actors
