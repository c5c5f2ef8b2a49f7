// SPDX-License-Identifier: Apache-2.0
// Conversion between Error and caf::error.
#pragma once

#include <caf/actor_system_config.hpp>
#include <caf/error.hpp>
#include <stdexcept>
#include <utility>

#include "runtime/result.hpp"

namespace warpsmith::actors {

caf::error to_caf(const Error& error);

/// The exit reason of an actor that threw. CAF also answers the current request with it, so
/// receiver_is_gone returns true for it: the requester must not count the answer and the exit as
/// two failures.
caf::error to_caf_end(const Error& error);

/// The same for an actor that lost its GPU, which no successor in this process could use.
caf::error to_caf_lost(const Error& error);
/// True for an exit reason of to_caf_lost.
bool device_is_lost(const caf::error& error);

/// Errors of CAF itself (time-outs, lost peers) get the nearest ErrorCode.
Error from_caf(const caf::error& error);

/// True if the receiver of the request has ended, so that only its successor can answer.
bool receiver_is_gone(const caf::error& error);

/// Ends the actor that throws it; the supervisor receives its code and message.
class ActorFailure : public std::runtime_error {
 public:
  explicit ActorFailure(Error error)
      : std::runtime_error(error.message), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

/// Lets `system.render` print these errors.
void register_errors(caf::actor_system_config& config);

}  // namespace warpsmith::actors
