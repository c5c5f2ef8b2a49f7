// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/engine_loop.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "actors/protocol/errors.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

constexpr std::chrono::milliseconds idle_poll{200};  // an idle loop updates its status this often
constexpr std::chrono::milliseconds drain_poll{20};
constexpr std::chrono::milliseconds share_poll{5};  // while a measurement holds the GPU
constexpr std::chrono::minutes share_timeout{10};   // before the engine is made

}  // namespace

std::vector<ChannelToken> TokenChannel::take(Deadline deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline.at(),
                      [this] { return !tokens_.empty() || failure_.has_value(); });
  return std::exchange(tokens_, {});
}

std::optional<Error> TokenChannel::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void TokenChannel::push(const ChannelToken& token) {
  {
    const std::lock_guard lock(mutex_);
    tokens_.push_back(token);
  }
  changed_.notify_one();
}

void TokenChannel::fail_with(Error error) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(error);
  }
  changed_.notify_one();
}

Result<std::unique_ptr<EngineLoop>> EngineLoop::start(EngineMaker make, LoopLimits limits,
                                                      SharedGpu shared) {
  std::unique_ptr<EngineLoop> loop(new EngineLoop(limits, std::move(shared)));
  loop->thread_ = std::thread([&self = *loop, make = std::move(make)] { self.run(make); });
  std::unique_lock lock(loop->mutex_);
  // The maker reads gigabytes and has no deadline; Ctrl-C twice ends the process.
  while (!loop->changed_.wait_for(lock, idle_poll, [&] { return loop->ready_; })) {
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
    remove_cancelled();
    const int64_t held = status_.running + std::ssize(waiting_);
    if (held + std::ssize(sequences) > limits_.sessions + limits_.queue) {
      return fail(ErrorCode::capacity,
                  fmt::format("{} sequences run or wait, of at most {}; try again later", held,
                              limits_.sessions + limits_.queue));
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
  while (!is_empty() && !deadline.passed()) changed_.wait_for(lock, drain_poll);
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
  status.stuck = SteadyClock::now() - last_step_ > limits_.step_budget;
  return status;
}

/// The thread's function. An exception means a broken device: all requests fail, later ones too.
void EngineLoop::run(const EngineMaker& make) {
  try {
    if (!open_engine(make)) return;
    run_steps();
    fail_all({ErrorCode::infrastructure, "the server stops"});
  } catch (const std::exception& error) {
    fail_all({ErrorCode::infrastructure, std::string("the engine failed: ") + error.what()});
  }
  engine_.reset();
}

/// The weights are copied to the GPU here.
Result<std::unique_ptr<policy::Engine>> EngineLoop::make_engine(const EngineMaker& make) {
  try {
    share_ = open_share(shared_);
    const ShareHold turn{share_, share_timeout};
    return make();
  } catch (const ActorFailure& failure) {
    return fail("engine on a GPU", failure.error());
  }
}

bool EngineLoop::open_engine(const EngineMaker& make) {
  Result<std::unique_ptr<policy::Engine>> made = fail(ErrorCode::infrastructure, "no engine");
  try {
    made = make_engine(make);
  } catch (const std::exception& error) {
    made = fail(ErrorCode::infrastructure, error.what());
  }
  if (made) engine_ = std::move(*made);
  const std::lock_guard lock(mutex_);
  if (!made) started_ = tl::unexpected(made.error());
  last_step_ = SteadyClock::now();
  ready_ = true;
  changed_.notify_all();
  return started_.has_value();
}

void EngineLoop::run_steps() {
  while (true) {
    for (dequeue(); !dequeued_.empty(); dequeued_.pop_front()) admit(dequeued_.front());
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    drop_cancelled();
    step();
  }
}

/// Without a share the loop waits a little and updates its status.
void EngineLoop::step() {
  const bool works = engine_->has_work();
  const bool may = !works || acquire_share();
  if (works && may) {
    for (const policy::EngineOutput& output : engine_->step()) deliver(output);
  }
  if (!engine_->has_work()) release_share();
  publish(works && may);
  if (!may) std::this_thread::sleep_for(share_poll);
}

/// True if the device may be used for a step.
bool EngineLoop::acquire_share() {
  if (!share_) return true;
  if (share_->is_held() && share_->is_wanted()) release_share();
  return share_->try_hold();
}

void EngineLoop::release_share() {
  if (!share_) return;
  if (share_->is_held()) {
    for (const policy::EngineOutput& output : engine_->settle()) deliver(output);
  }
  share_->give_back();
}

/// Removes waiting sequences of clients that have left. Requires the lock.
void EngineLoop::remove_cancelled() {
  std::erase_if(waiting_, [](const Waiting& one) { return one.channel->cancelled(one.sequence); });
}

/// Takes as many sequences from the queue as the engine has free slots. Waits if there is nothing
/// to do.
void EngineLoop::dequeue() {
  std::unique_lock lock(mutex_);
  if (!engine_->has_work()) {
    changed_.wait_for(lock, idle_poll, [this] { return stopping_ || !waiting_.empty(); });
  }
  remove_cancelled();
  while (!waiting_.empty() && dequeued_.size() < engine_->free_slots()) {
    dequeued_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  status_.running += std::ssize(dequeued_);
}

/// `waiting` keeps its channel until the engine has accepted it, so that `fail_all` finds the
/// channel if the engine throws.
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

void EngineLoop::deliver(const policy::EngineOutput& output) {
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
  last_step_ = SteadyClock::now();
}

/// Sets the status first, so that a reader of a failed channel finds the loop failed too.
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
  for (const Waiting& one : dequeued_) one.channel->fail_with(error);
  dequeued_.clear();
  running_.clear();
}

}  // namespace warpsmith::commands
