// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/fault_slot.hpp"

#include "runtime/clock.hpp"

namespace warpsmith::commands {
namespace {

constexpr std::chrono::seconds start_budget{60};
constexpr std::chrono::minutes fault_budget{5};  // the first one may measure the task

}  // namespace

Result<sandbox::Client*> FaultSlot::ready() {
  if (client_ && !client_->lost()) return &*client_;
  client_.reset();
  auto started = sandbox::Client::start(options_, Deadline::after(start_budget), ender_);
  if (!started) return tl::unexpected(std::move(started.error()));
  return &client_.emplace(std::move(*started));
}

Judgement FaultSlot::once(const Task& task, const Submission& submission) {
  auto client = ready();
  if (!client) return InfraFailure{InfraKind::sandbox_lost, client.error().message};
  return (*client)->evaluate({task, submission, Request::final}, Deadline::after(fault_budget));
}

FaultSlot::Answer FaultSlot::judge(const Task& task, const Submission& submission) {
  Answer answer;
  for (int i = 0; i <= max_retries; ++i) {
    const auto begin = SteadyClock::now();
    const Judgement judgement = once(task, submission);
    const std::chrono::duration<double, std::milli> took = SteadyClock::now() - begin;
    answer.took_ms = took.count();
    answer.all_ms += took.count();
    answer.last = judged(judgement);
    if (std::holds_alternative<Verdict>(judgement)) break;
    answer.failures.push_back(answer.last.outcome);
  }
  return answer;
}

FaultSlot::Answer FaultSlot::judge_struck(const Task& task, const Submission& submission,
                                          Piece piece, std::chrono::microseconds delay,
                                          ProcessCensus& census) {
  const auto client = ready();
  if (!client) return judge(task, submission);
  Strike strike((*client)->pid(), piece, delay, census);
  const auto begin = SteadyClock::now();
  const Judgement first = once(task, submission);
  const bool hit = strike.hit();
  const std::chrono::duration<double, std::milli> took = SteadyClock::now() - begin;
  Answer answer{.last = judged(first)};
  if (std::holds_alternative<InfraFailure>(first)) {
    const std::string kind = answer.last.outcome;
    answer = judge(task, submission);
    answer.failures.insert(answer.failures.begin(), kind);
  }
  answer.hit = hit;
  answer.all_ms += took.count();
  return answer;
}

}  // namespace warpsmith::commands
