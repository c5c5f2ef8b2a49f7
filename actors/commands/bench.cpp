// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench …`: figures beside their peers, measured in the same run.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "actors/bench/actor_latency.hpp"
#include "actors/commands/command.hpp"

namespace warpsmith::actors {
namespace {

nlohmann::json figures_json(const LatencyFigures& figures) {
  return {{"median_us", figures.median_us}, {"p95_us", figures.p95_us}};
}

ExitCode bench_actors(uint32_t rounds) {
  const ActorLatency latency = measure_actor_latency(rounds);
  const nlohmann::json out{{"request_response", figures_json(latency.request)},
                           {"segment_1mib_by_reference", figures_json(latency.segment_1mib)},
                           {"peer_thread_handoff", figures_json(latency.thread_handoff)}};
  std::cout << out.dump(2) << '\n';
  return ExitCode::success;
}

}  // namespace

Command bench_command() {
  return {"bench", "Measure a part beside its peer",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto rounds = std::make_shared<uint32_t>(20'000);
            app.require_subcommand(1);
            CLI::App* actors = app.add_subcommand(
                "actors", "Request and response, and 1 MiB by reference, beside two threads");
            actors->add_option("--rounds", *rounds, "Messages of each kind")
                ->capture_default_str()
                ->check(CLI::Range(1U, 10'000'000U));
            return [rounds] { return bench_actors(*rounds); };
          }};
}

}  // namespace warpsmith::actors
