// SPDX-License-Identifier: Apache-2.0
// How newer weights reach a generator: by reference within a process, in pieces from another node.
#include "actors/base/ask.hpp"
#include "actors/generator/generator.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/protocol/local_messages.hpp"
#include "actors/weights/weight_shards.hpp"

namespace warpsmith::actors {
namespace {

constexpr std::chrono::seconds pull_again{1};  // after a failed pull: rollouts wait for it

}  // namespace

void GeneratorState::weights_ready(const WeightsReady& ready) {
  if (has(ready.version)) return;
  if (store_.node() == self_->node()) return pull_by_reference(ready.version);
  // A repeated notice must replace neither the pull of its own version nor that of a newer one.
  if (pull_ && ready.version <= pull_->version) return;
  auto weights = policy::allocate_weights(settings_.model);
  pull_.emplace(Pull{ready.version, std::make_shared<policy::ModelWeights>(std::move(weights)), 0});
  pull_shard();
}

bool GeneratorState::has(PolicyVersion version) const {
  return (loaded_ && version <= engine_->version()) || (newest_ && version <= newest_->version);
}

/// Pulls the newest weights, which are of `version` or a later one.
void GeneratorState::pull_by_reference(PolicyVersion version) {
  const auto store = caf::actor_cast<LocalWeightStoreActor>(store_);
  ask(self_, *this, "pulled", store, settings_.pull_timeout, atom::pull_v)
      .then([this](const LocalWeights& newest) { arrived({newest.version, newest.weights}); },
            [this, version](const caf::error& error) {
              log::warn(label() + ": no new weights: " + from_caf(error).message);
              if (receiver_is_gone(error)) return;
              self_->delayed_send(self_, pull_again, WeightsReady{version});
            });
}

void GeneratorState::pull_shard() {
  ask(self_, *this, "pulled", store_, settings_.pull_timeout, atom::pull_v, pull_->version,
      pull_->next)
      .then([this](const WeightShard& shard) { shard_arrived(shard); },
            [this, version = pull_->version](const caf::error& error) {
              const Error why = from_caf(error);
              log::info(label() + ": pull ended: " + why.message);
              if (!pull_ || pull_->version != version) return;  // a newer pull has begun
              pull_.reset();
              // The store announces the newer version itself.
              const bool replaced = why.code == ErrorCode::stale || receiver_is_gone(error);
              if (!replaced) self_->delayed_send(self_, pull_again, WeightsReady{version});
            });
}

void GeneratorState::shard_arrived(const WeightShard& shard) {
  if (!pull_ || shard.version != pull_->version || shard.index != pull_->next) return;
  if (auto applied = apply_shard(shard, *pull_->weights); !applied) {
    log::warn(label() + ": " + applied.error().message);
    pull_.reset();
    self_->delayed_send(self_, pull_again, WeightsReady{shard.version});
    return;
  }
  if (++pull_->next < shard.count) return pull_shard();
  arrived({pull_->version, std::move(pull_->weights)});
  pull_.reset();
}

/// Loading a version again would only forget the prefixes that were computed with it.
void GeneratorState::arrived(Newest newest) {
  if (has(newest.version)) return;
  newest_ = std::move(newest);
  if (has_share()) load_newest();
  go_on();
}

void GeneratorState::load_newest() {
  const Newest newest = std::move(*newest_);
  newest_.reset();
  const auto start = std::chrono::steady_clock::now();
  engine_->load(newest.version, *newest.weights);
  const auto pause = std::chrono::steady_clock::now() - start;
  pause_ms_ = std::chrono::duration<double, std::milli>(pause).count();
  loaded_ = true;
  if (!engine_->has_work()) give_share_back();
}

}  // namespace warpsmith::actors
