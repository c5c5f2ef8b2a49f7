// SPDX-License-Identifier: Apache-2.0
// Fixture for actors under CAF's deterministic scheduler: no threads, virtual time.
#pragma once

#include <gtest/gtest.h>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/scoped_actor.hpp>

#include "actors/base/actor_state.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/protocol/interfaces.hpp"

namespace warpsmith::actors {

struct DeterministicConfig : caf::actor_system_config {
  DeterministicConfig() {
    set("scheduler.policy", caf::atom("testing"));
    add_message_types<caf::id_block::warpsmith>();
    add_message_types<caf::id_block::warpsmith_handles>();
    register_errors(*this);
  }
};

class ActorTest : public ::testing::Test {
 protected:
  /// Runs every message that is due.
  void deliver_all() {
    while (sched.try_run_once()) {
    }
  }
  void advance(caf::timespan span) {
    sched.clock().advance_time(span);
    deliver_all();
  }
  Identity identity(std::string label) { return {std::move(label), tap.get()}; }

  /// Sends a request, delivers everything, and returns the answer or the error. The request has no
  /// time-out: its message would arrive during a later request, which waits for its own answer.
  template <class Out, class Handle, class... Args>
  Result<Out> ask(const Handle& actor, Args... args) {
    auto request = self->request(actor, caf::infinite, std::move(args)...);
    deliver_all();
    Result<Out> answer = fail(ErrorCode::timeout, "no answer");
    if (self->mailbox().empty()) return answer;
    request.receive([&](Out& out) { answer = std::move(out); },
                    [&](caf::error& error) { answer = tl::unexpected(from_caf(error)); });
    return answer;
  }

  std::unique_ptr<Tap> tap = make_silent_tap();
  DeterministicConfig cfg;
  caf::actor_system sys{cfg};
  caf::scoped_actor self{sys, true};
  caf::scheduler::test_coordinator& sched =
      dynamic_cast<caf::scheduler::test_coordinator&>(sys.scheduler());
};

}  // namespace warpsmith::actors
