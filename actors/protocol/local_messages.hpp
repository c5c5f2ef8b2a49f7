// SPDX-License-Identifier: Apache-2.0
// What may not leave the process: payloads handed over by reference.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <memory>

#include "runtime/policy_version.hpp"

namespace warpsmith::policy {
struct ModelWeights;
}

namespace warpsmith::actors {

/// Weights of one version, immutable from the moment they are sent.
struct LocalWeights {
  PolicyVersion version;
  std::shared_ptr<const policy::ModelWeights> weights;
};

}  // namespace warpsmith::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(warpsmith::actors::LocalWeights)
