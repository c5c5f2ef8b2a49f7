// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/engine_loop.hpp"

#include <exception>
#include <utility>

#include "actors/protocol/errors.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

constexpr std::chrono::milliseconds idle_look{200};  // an idle loop shows this often that it lives
constexpr std::chrono::milliseconds drain_look{20};
constexpr std::chrono::milliseconds measured_look{5};  // whether a measurement is over
constexpr std::chrono::minutes patience{10};           // for one before the engine is made

}  // namespace

Result<std::unique_ptr<EngineLoop>> EngineLoop::start(EngineMaker make, LoopLimits limits,
                                                      SharedGpu shared) {
  std::unique_ptr<EngineLoop> loop(new EngineLoop(limits, std::move(shared)));
  loop->thread_ = std::thread([&self = *loop, make = std::move(make)] { self.run(make); });
  std::unique_lock lock(loop->mutex_);
  // The maker reads gigabytes and has no deadline of its own; Ctrl-C twice ends the process.
  while (!loop->changed_.wait_for(lock, idle_look, [&] { return loop->ready_; })) {
  }
  if (!loop->started_) return tl::unexpected(loop->started_.error());
  lock.unlock();
  return loop;
}

EngineLoop::~EngineLoop() {
  stop();
}

Result<std::shared_ptr<TokenChannel>> EngineLoop::submit(
    std::vector<policy::EngineRequest> sequences) {
  auto channel = std::make_shared<TokenChannel>(sequences.size());
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return fail(ErrorCode::infrastructure, "the server stops");
    if (!status_.failure.empty()) return fail(ErrorCode::infrastructure, status_.failure);
    forget_cancelled();
    const int64_t held = status_.running + std::ssize(waiting_);
    if (held + std::ssize(sequences) > limits_.sessions + limits_.queue) {
      return fail(ErrorCode::capacity,
                  std::to_string(held) + " sequences run or wait, of at most " +
                      std::to_string(limits_.sessions + limits_.queue) + "; try again later");
    }
    for (size_t i = 0; i < sequences.size(); ++i) {
      waiting_.push_back({std::move(sequences[i]), i, channel});
    }
  }
  changed_.notify_all();
  return channel;
}

void EngineLoop::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool EngineLoop::drained(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto is_empty = [this] {
    return (status_.running == 0 && waiting_.empty()) || !status_.failure.empty();
  };
  while (!is_empty() && !deadline.passed()) changed_.wait_for(lock, drain_look);
  return is_empty();
}

void EngineLoop::stop() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

LoopStatus EngineLoop::status() const {
  const std::lock_guard lock(mutex_);
  LoopStatus status = status_;
  status.waiting = std::ssize(waiting_);
  status.stuck = SteadyClock::now() - beat_ > limits_.step_budget;
  return status;
}

/// The thread. An exception means a broken device: every request fails, and so do later ones.
void EngineLoop::run(const EngineMaker& make) {
  try {
    if (!open_engine(make)) return;
    go_on();
    fail_all({ErrorCode::infrastructure, "the server stops"});
  } catch (const std::exception& error) {
    fail_all({ErrorCode::infrastructure, std::string("the engine failed: ") + error.what()});
  }
  engine_.reset();
}

/// The weights are copied to the GPU here, too.
Result<std::unique_ptr<policy::Engine>> EngineLoop::make_in_turn(const EngineMaker& make) {
  try {
    share_ = open_share(shared_);
    const ShareTurn turn{share_, patience};
    return make();
  } catch (const ActorFailure& failure) {
    return fail("engine on a GPU", failure.error());
  }
}

bool EngineLoop::open_engine(const EngineMaker& make) {
  Result<std::unique_ptr<policy::Engine>> made = fail(ErrorCode::infrastructure, "no engine");
  try {
    made = make_in_turn(make);
  } catch (const std::exception& error) {
    made = fail(ErrorCode::infrastructure, error.what());
  }
  if (made) engine_ = std::move(*made);
  const std::lock_guard lock(mutex_);
  if (!made) started_ = tl::unexpected(made.error());
  beat_ = SteadyClock::now();
  ready_ = true;
  changed_.notify_all();
  return started_.has_value();
}

void EngineLoop::go_on() {
  while (true) {
    for (take_sequences(); !taken_.empty(); taken_.pop_front()) admit(taken_.front());
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    drop_cancelled();
    step();
  }
}

/// Without a share it waits a little, and the loop shows that it lives.
void EngineLoop::step() {
  const bool works = engine_->has_work();
  const bool may = !works || has_share();
  if (works && may) {
    for (const policy::EngineOutput& output : engine_->step()) pass_on(output);
  }
  if (!engine_->has_work()) give_share_back();
  publish(works && may);
  if (!may) std::this_thread::sleep_for(measured_look);
}

/// Whether the device may be used for a step.
bool EngineLoop::has_share() {
  if (!share_) return true;
  if (share_->is_held() && share_->is_wanted()) give_share_back();
  return share_->try_hold();
}

void EngineLoop::give_share_back() {
  if (!share_) return;
  if (share_->is_held()) {
    for (const policy::EngineOutput& output : engine_->settle()) pass_on(output);
  }
  share_->give_back();
}

/// Frees the places of clients that have left. With the lock held.
void EngineLoop::forget_cancelled() {
  std::erase_if(waiting_, [](const Waiting& one) { return one.channel->cancelled(one.sequence); });
}

/// Takes what has a slot from the queue. Waits if there is nothing to do.
void EngineLoop::take_sequences() {
  std::unique_lock lock(mutex_);
  if (!engine_->has_work()) {
    changed_.wait_for(lock, idle_look, [this] { return stopping_ || !waiting_.empty(); });
  }
  forget_cancelled();
  while (!waiting_.empty() && taken_.size() < engine_->free_slots()) {
    taken_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  status_.running += std::ssize(taken_);
}

/// `waiting` keeps its channel until the engine has it: an engine that throws fails it.
void EngineLoop::admit(Waiting& waiting) {
  if (waiting.channel->cancelled(waiting.sequence)) return;
  const policy::SessionId session = next_session_++;
  waiting.request.session = session;
  if (auto taken = engine_->submit(std::move(waiting.request)); !taken) {
    return waiting.channel->fail_with(taken.error());
  }
  running_[session] = {waiting.sequence, std::move(waiting.channel)};
}

void EngineLoop::drop_cancelled() {
  std::erase_if(running_, [this](const auto& entry) {
    const bool cancelled = entry.second.channel->cancelled(entry.second.sequence);
    if (cancelled) engine_->release(entry.first);
    return cancelled;
  });
}

void EngineLoop::pass_on(const policy::EngineOutput& output) {
  const auto found = running_.find(output.session);
  if (found == running_.end()) return;
  for (size_t i = 0; i < output.tokens.size(); ++i) {
    const bool last = i + 1 == output.tokens.size();
    found->second.channel->push(
        {found->second.sequence,
         {output.tokens[i], output.log_probs[i], last ? output.finish : FinishReason::none}});
  }
  if (output.finish == FinishReason::none) return;
  running_.erase(found);
  engine_->release(output.session);
}

void EngineLoop::publish(bool stepped) {
  const std::lock_guard lock(mutex_);
  status_.running = std::ssize(running_);
  status_.engine = engine_->stats();
  if (stepped) ++status_.steps;
  beat_ = SteadyClock::now();
}

/// The status tells first, so that a reader of a failed channel finds the loop failed too.
void EngineLoop::fail_all(const Error& error) {
  std::deque<Waiting> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
    status_.running = 0;
    if (!stopping_) status_.failure = error.message;
    changed_.notify_all();
  }
  for (const auto& [session, running] : running_) running.channel->fail_with(error);
  for (const Waiting& one : waiting) one.channel->fail_with(error);
  for (const Waiting& one : taken_) one.channel->fail_with(error);
  taken_.clear();
  running_.clear();
}

}  // namespace warpsmith::commands
