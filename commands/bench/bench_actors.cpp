// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/bench_actors.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <chrono>
#include <condition_variable>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "actors/protocol/inspect.hpp"
#include "actors/protocol/type_ids.hpp"
#include "actors/run/run_tree.hpp"
#include "commands/bench/bench.hpp"

namespace warpsmith::commands {
using namespace actors;

LatencyFigures figures_of(std::vector<double> microseconds) {
  if (microseconds.empty()) return {};
  std::ranges::sort(microseconds);
  const size_t last = microseconds.size() - 1;
  return {microseconds[last / 2], microseconds[last * 95 / 100]};
}

namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

caf::behavior echo(caf::event_based_actor* /*self*/) {
  return {[](int32_t number) { return number; },
          [](const Segment& segment) { return static_cast<int32_t>(segment.number); }};
}

using Samples = std::vector<double>;
using Done = std::shared_ptr<std::promise<Samples>>;

/// Sends one request after another and keeps the time of each.
template <class Message>
struct Requester {
  caf::event_based_actor* self;
  caf::actor peer;
  Message message;
  uint32_t left;
  Samples samples;
  Done done;

  static void go(const std::shared_ptr<Requester>& requester) {
    if (requester->left-- == 0) return requester->done->set_value(std::move(requester->samples));
    const auto begin = Clock::now();
    requester->self->request(requester->peer, std::chrono::seconds{10}, requester->message)
        .then([requester, begin](int32_t) {
          requester->samples.push_back(microseconds_since(begin));
          go(requester);
        });
  }
};

template <class Message>
LatencyFigures time_requests(caf::actor_system& system, const Message& message, uint32_t rounds) {
  const auto done = std::make_shared<std::promise<Samples>>();
  auto result = done->get_future();
  const auto peer = system.spawn(echo);
  system.spawn([=](caf::event_based_actor* self) {
    Requester<Message>::go(std::make_shared<Requester<Message>>(
        Requester<Message>{self, peer, message, rounds, {}, done}));
  });
  if (result.wait_for(std::chrono::seconds{120}) != std::future_status::ready) {
    throw std::runtime_error("actor latency: no answer within two minutes");
  }
  return figures_of(result.get());
}

/// Sends a shared message: a request copies a handle, not the megabyte.
LatencyFigures time_shared_segment(caf::actor_system& system, uint32_t rounds) {
  Segment segment;
  const size_t tokens = (1U << 20U) / (sizeof(int32_t) + 1 + sizeof(float) + sizeof(PolicyVersion));
  segment.tokens.resize(tokens);
  segment.action_mask.resize(tokens);
  segment.log_probs.resize(tokens);
  segment.versions.resize(tokens);
  return time_requests(system, caf::make_message(std::move(segment)), rounds);
}

LatencyFigures hand_off_between_threads(uint32_t rounds) {
  std::mutex mutex;
  std::condition_variable changed;
  uint32_t turn = 0;  // even: this thread's turn, odd: the other's
  auto take = [&](uint32_t parity) {
    std::unique_lock lock{mutex};
    changed.wait_for(lock, std::chrono::seconds{10}, [&] { return turn % 2 == parity; });
    ++turn;
    lock.unlock();
    changed.notify_one();
  };
  Samples samples;
  std::jthread other([&] {
    for (uint32_t i = 0; i < rounds; ++i) take(1);
  });
  for (uint32_t i = 0; i < rounds; ++i) {
    const auto begin = Clock::now();
    take(0);
    std::unique_lock lock{mutex};
    changed.wait_for(lock, std::chrono::seconds{10}, [&] { return turn % 2 == 0; });
    samples.push_back(microseconds_since(begin));
  }
  return figures_of(std::move(samples));
}

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
  return fmt::format("<= {:.0f} us median", most_us);
}

std::string figures_text(const LatencyFigures& figures) {
  return fmt::format("{:.1f} us, 95 % within {:.1f} us", figures.median_us, figures.p95_us);
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
    "segment of 1 MiB, which is passed by reference. The peer is two threads that hand a turn\n"
    "back and forth through a condition variable. All times are from request to response.";

}  // namespace

ActorLatency measure_actor_latency(uint32_t rounds) {
  ActorSystemConfig config{2};
  caf::actor_system system{config};
  return {time_requests(system, int32_t{1}, rounds), time_shared_segment(system, rounds),
          hand_off_between_threads(rounds)};
}

Command bench_actors_part() {
  return {"actors", "Latency of messages between actors, compared with two threads",
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
