// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/actor_latency.hpp"

#include <algorithm>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "actors/base/worker_pool.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/protocol/type_ids.hpp"

namespace warpsmith::commands {
using namespace actors;
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
  uint32_t turn = 0;  // even: this thread's, odd: the other's
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

struct BenchConfig : caf::actor_system_config {
  BenchConfig() {
    configure_workers(*this, 2);
    add_message_types<caf::id_block::warpsmith>();
  }
};

}  // namespace

LatencyFigures figures_of(std::vector<double> microseconds) {
  if (microseconds.empty()) return {};
  std::ranges::sort(microseconds);
  const size_t last = microseconds.size() - 1;
  return {microseconds[last / 2], microseconds[last * 95 / 100]};
}

ActorLatency measure_actor_latency(uint32_t rounds) {
  BenchConfig config;
  caf::actor_system system{config};
  return {time_requests(system, int32_t{1}, rounds), time_shared_segment(system, rounds),
          hand_off_between_threads(rounds)};
}

}  // namespace warpsmith::commands
