// SPDX-License-Identifier: Apache-2.0
// Two processes in one program: with `serve` it publishes the stand-ins on loopback until its
// standard input ends; without an argument it runs the tests, which start the server.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/actors/net/net_support.hpp"
#include "tests/actors/stand_ins.hpp"

namespace warpsmith::actors {
namespace {

template <class Handle>
void publish(caf::actor_system& system, Handle actor) {
  const auto port = system.middleman().publish(actor, 0, "127.0.0.1");
  std::printf("%d\n", port ? int{*port} : 0);
}

int serve() {
  NetConfig config;
  caf::actor_system system{config};
  publish(system, system.spawn(stand_in::telemetry));
  publish(system, system.spawn(stand_in::generator));
  publish(system, system.spawn(stand_in::weight_store));
  publish(system, system.spawn(stand_in::tool_executor));
  publish(system, system.spawn(stand_in::sandbox));
  publish(system, system.spawn(stand_in::synthesis));
  publish(system, system.spawn(stand_in::ledger));
  publish<LearnerActor>(system, system.spawn(stand_in::learner));
  publish(system, system.spawn(stand_in::rollout));
  publish(system, system.spawn(stand_in::supervisor));
  publish(system, system.spawn(stand_in::composer));
  (void)std::fflush(stdout);
  (void)std::getchar();  // until the tests close the pipe
  std::_Exit(0);         // published actors never end by themselves
}

}  // namespace
}  // namespace warpsmith::actors

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view{argv[1]} == "serve") return warpsmith::actors::serve();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
