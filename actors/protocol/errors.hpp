// SPDX-License-Identifier: Apache-2.0
// Our Error as caf::error and back: one category, one renderer.
#pragma once

#include <caf/actor_system_config.hpp>
#include <caf/error.hpp>
#include <stdexcept>
#include <utility>

#include "runtime/result.hpp"

namespace warpsmith::actors {

caf::error to_caf(const Error& error);

/// The same as the end of an actor that threw. CAF answers the request in hand with it and sends it
/// to whoever watches: to the asker both are one failure, so the answer means that nobody is there.
caf::error to_caf_end(const Error& error);

/// Errors of CAF itself (time-outs, lost peers) get the nearest code of ours.
Error from_caf(const caf::error& error);

/// Whether whoever was asked is gone, so that only its successor can answer.
bool receiver_is_gone(const caf::error& error);

/// Ends the actor that throws it; the supervisor hears code and message.
class ActorFailure : public std::runtime_error {
 public:
  explicit ActorFailure(Error error)
      : std::runtime_error(error.message), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

/// Lets `system.render` print our category.
void register_errors(caf::actor_system_config& config);

}  // namespace warpsmith::actors
