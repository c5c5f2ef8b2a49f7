// SPDX-License-Identifier: Apache-2.0
// A configuration with the network layer, and a child process that serves the stand-ins.
#pragma once

#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <string>
#include <vector>

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/protocol/interfaces.hpp"

namespace warpsmith::actors {

struct NetConfig : caf::actor_system_config {
  NetConfig() {
    load<caf::io::middleman>();
    set("scheduler.max-threads", 2);
    set("middleman.app-identifiers", std::vector<std::string>{"warpsmith/test"});
    add_message_types<caf::id_block::warpsmith>();
    add_message_types<caf::id_block::warpsmith_handles>();
    register_errors(*this);
  }
};

/// In the order in which the server publishes them.
enum class Served : uint8_t {
  telemetry,
  generator,
  weight_store,
  tool_executor,
  sandbox,
  synthesis,
  ledger,
  learner,
  rollout,
  supervisor,
  composer,
};

/// This program started with `serve`; reads its ports, and ends it by closing its standard input.
class ServerProcess {
 public:
  ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();
  uint16_t port(Served which) const { return ports_.at(static_cast<size_t>(which)); }

 private:
  int pid_ = -1;
  int input_ = -1;
  std::vector<uint16_t> ports_;
};

}  // namespace warpsmith::actors
