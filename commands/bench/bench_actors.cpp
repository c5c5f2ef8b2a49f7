// SPDX-License-Identifier: Apache-2.0
// `warpsmith bench actors`: latency of messages between actors beside two threads.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/bench/actor_latency.hpp"
#include "commands/bench/bench_parts.hpp"

namespace warpsmith::commands {
namespace {

constexpr double bar_request_us = 10;
constexpr double bar_segment_us = 20;

struct ActorsArguments {
  uint32_t rounds = 20'000;
  bool json = false;
};

nlohmann::json figures_json(const LatencyFigures& figures) {
  return {{"median_us", figures.median_us}, {"p95_us", figures.p95_us}};
}

std::string bar_text(double most_us) {
  return "<= " + fixed(most_us, 0) + " us median";
}

std::string figures_text(const LatencyFigures& figures) {
  return fixed(figures.median_us, 1) + " us, 95 % within " + fixed(figures.p95_us, 1) + " us";
}

ExitCode bench_actors(const ActorsArguments& args) {
  const ActorLatency latency = measure_actor_latency(args.rounds);
  if (args.json) {
    const nlohmann::json out{{"request_response", figures_json(latency.request)},
                             {"request_response_median_us_bar", bar_request_us},
                             {"segment_1mib_by_reference", figures_json(latency.segment_1mib)},
                             {"segment_1mib_median_us_bar", bar_segment_us},
                             {"peer_thread_handoff", figures_json(latency.thread_handoff)}};
    std::cout << out.dump() << '\n';
    return ExitCode::success;
  }
  std::cout << table_of(
      {{"request and response", figures_text(latency.request), bar_text(bar_request_us)},
       {"1 MiB by reference", figures_text(latency.segment_1mib), bar_text(bar_segment_us)},
       {"peer: two threads", figures_text(latency.thread_handoff), {}}});
  return ExitCode::success;
}

const char* const actors_footer =
    "Two actors on CAF's own threads: a request and its response, with a number and with a\n"
    "segment of 1 MiB, which is passed by reference. The peer: two threads that pass a turn by a\n"
    "condition variable, there and back. All times are from request to response.";

}  // namespace

Command bench_actors_part() {
  return {"actors", "Latency of messages between actors, beside two threads",
          [](CLI::App& app) -> std::function<ExitCode()> {
            auto args = std::make_shared<ActorsArguments>();
            app.add_option("--rounds", args->rounds, "Requests of each kind")
                ->capture_default_str()
                ->check(CLI::Range(1U, 10'000'000U));
            app.add_flag("--json", args->json, "Print one JSON object on standard output");
            app.footer(actors_footer);
            return [args] { return bench_actors(*args); };
          }};
}

}  // namespace warpsmith::commands
