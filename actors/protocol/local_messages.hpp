// SPDX-License-Identifier: Apache-2.0
// Messages that must not leave the process, because they pass payloads by reference.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <memory>

#include "actors/protocol/interfaces.hpp"
#include "runtime/policy_version.hpp"

namespace warpsmith::policy {
struct ModelWeights;
class TrainerSnapshot;
}  // namespace warpsmith::policy

namespace warpsmith::actors {

/// Weights of one version, immutable from the moment they are sent.
struct LocalWeights {
  PolicyVersion version;
  std::shared_ptr<const policy::ModelWeights> weights;
};

/// The content of a checkpoint.
struct LocalSnapshot {
  std::shared_ptr<const policy::TrainerSnapshot> snapshot;
};

}  // namespace warpsmith::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(warpsmith::actors::LocalWeights)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(warpsmith::actors::LocalSnapshot)

namespace warpsmith::actors {

// clang-format off: laid out as in interfaces.hpp

/// The weight store's interface for actors of the same process.
using LocalWeightStoreActor = WeightStoreActor::extend<
    // Publishes a newer version: every subscriber gets WeightsReady.
    caf::reacts_to<LocalWeights>,
    // Answers the newest version; error not_found before the first.
    caf::replies_to<atom::pull>::with<LocalWeights>>;

/// Writes the learner's checkpoints while it continues.
using CheckpointWriterActor =
    caf::typed_actor<AnswersStatus,
                     // Answers the checkpoint's folder once it is durable.
                     caf::replies_to<LocalSnapshot>::with<std::string>>;

// clang-format on

}  // namespace warpsmith::actors
