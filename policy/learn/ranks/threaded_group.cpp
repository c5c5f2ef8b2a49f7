// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/ranks/threaded_group.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "policy/model/libtorch_runtime.hpp"

namespace warpsmith::policy {
namespace {

/// Ranks wait for each other here and share their tensors.
class Barrier {
 public:
  Barrier(size_t ranks, std::chrono::milliseconds timeout)
      : timeout_(timeout), buffers_(ranks), missing_(ranks) {}

  size_t ranks() const { return buffers_.size(); }
  /// Valid between two waits.
  at::Tensor& buffer(size_t rank) { return buffers_[rank]; }

  /// Returns when all ranks have called it.
  void wait() {
    std::unique_lock lock{mutex_};
    const uint64_t round = round_;
    if (!aborted_ && --missing_ == 0) {
      missing_ = ranks();
      ++round_;
      all_arrived_.notify_all();
      return;
    }
    const bool in_time =
        all_arrived_.wait_for(lock, timeout_, [&] { return aborted_ || round_ != round; });
    if (round_ != round) return;
    throw std::runtime_error(in_time ? "another rank has failed"
                                     : "the other ranks did not come to a collective in time");
  }

  void abort() {
    const std::lock_guard lock{mutex_};
    aborted_ = true;
    all_arrived_.notify_all();
  }

 private:
  std::chrono::milliseconds timeout_;
  std::vector<at::Tensor> buffers_;
  std::mutex mutex_;
  std::condition_variable all_arrived_;
  size_t missing_;  // of this round
  uint64_t round_ = 0;
  bool aborted_ = false;
};

class HostCollective final : public Collective {
 public:
  HostCollective(size_t rank, std::shared_ptr<Barrier> barrier)
      : rank_(rank), barrier_(std::move(barrier)) {}

  void reduce_scatter(const at::Tensor& all, at::Tensor& own) override {
    const at::NoGradGuard no_grad;
    publish(all);
    at::Tensor sum = part_of(0, rank_, own.numel()).clone();
    for (size_t r = 1; r < barrier_->ranks(); ++r) sum.add_(part_of(r, rank_, own.numel()));
    own.copy_(sum);  // no other rank reads this part
    barrier_->wait();
  }

  void all_gather(const at::Tensor& own, at::Tensor& all) override {
    const at::NoGradGuard no_grad;
    publish(all);
    for (size_t r = 0; r < barrier_->ranks(); ++r) {
      if (r != rank_)
        all.narrow(0, first_of(r, own), own.numel()).copy_(part_of(r, r, own.numel()));
    }
    barrier_->wait();
  }

  void abort() override { barrier_->abort(); }

 private:
  void publish(const at::Tensor& all) {
    barrier_->buffer(rank_) = all;
    barrier_->wait();
  }
  static int64_t first_of(size_t part, const at::Tensor& own) {
    return static_cast<int64_t>(part) * own.numel();
  }
  at::Tensor part_of(size_t rank, size_t part, int64_t size) {
    return barrier_->buffer(rank).narrow(0, static_cast<int64_t>(part) * size, size);
  }

  size_t rank_;
  std::shared_ptr<Barrier> barrier_;
};

/// Why `work` failed; empty if it did not.
template <class Work>
std::string failure_in(const Work& work) {
  std::string why;
  try {
    work();
    return {};
  } catch (const c10::Error& error) {
    why = error.what_without_backtrace();
  } catch (const std::exception& error) {
    why = error.what();
  }
  return why.empty() ? "an error without a message" : why;
}

/// Makes all ranks wait for each other once: those on GPUs connect at their first call.
void connect(RankGroup& group, const std::vector<c10::Device>& devices) {
  const auto ranks = static_cast<int64_t>(devices.size());
  group.run([&](size_t rank, Collective& collective) {
    const at::Tensor all = at::zeros({ranks}, at::TensorOptions(devices[rank]));
    at::Tensor own = all.narrow(0, static_cast<int64_t>(rank), 1);
    collective.reduce_scatter(all, own);
    (void)own.cpu();
  });
}

class ThreadedGroup final : public RankGroup {
 public:
  ThreadedGroup(GroupSettings settings, std::vector<std::shared_ptr<Collective>> collectives)
      : settings_(std::move(settings)), collectives_(std::move(collectives)) {
    done_.resize(size(), true);
    for (size_t rank = 0; rank < size(); ++rank) {
      threads_.emplace_back([this, rank] { serve(rank); });
    }
  }

  ~ThreadedGroup() override {
    {
      std::unique_lock lock{mutex_};
      stopping_ = true;
      changed_.notify_all();
      end_process_unless(lock, [this] { return ended_ == size(); });
    }
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadedGroup(const ThreadedGroup&) = delete;
  ThreadedGroup& operator=(const ThreadedGroup&) = delete;

  size_t size() const override { return settings_.devices.size(); }

  void run(const Work& work) override {
    std::unique_lock lock{mutex_};
    if (!failure_.empty()) throw std::runtime_error(failure_);
    work_ = &work;
    done_.assign(size(), false);
    ++round_;
    changed_.notify_all();
    const auto ended = [this] { return all_done() || !failure_.empty(); };
    if (!changed_.wait_for(lock, settings_.timeout, ended)) fail_by_time();
    if (failure_.empty()) return;
    end_others(lock);
    throw std::runtime_error(failure_);
  }

 private:
  std::string name_of(size_t rank) const {
    return fmt::format("learner: rank {} of {} ({})", rank, size(), settings_.devices[rank].str());
  }

  bool all_done() const {
    for (const bool done : done_) {
      if (!done) return false;
    }
    return true;
  }

  void fail_by_time() {
    size_t late = 0;
    while (late + 1 < size() && done_[late]) ++late;
    failure_ = fmt::format("{} did not finish its work within {} ms", name_of(late),
                           settings_.timeout.count());
  }

  void end_others(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    for (const auto& collective : collectives_) (void)failure_in([&] { collective->abort(); });
    lock.lock();
    end_process_unless(lock, [this] { return all_done(); });
  }

  /// A thread that never returns from a driver call cannot be joined, and its data, including the
  /// caller's variables, cannot be freed.
  template <class Condition>
  void end_process_unless(std::unique_lock<std::mutex>& lock, Condition condition) {
    if (changed_.wait_for(lock, settings_.grace, condition)) return;
    const std::string why = failure_ + "\nlearner: a rank did not end; ending the process\n";
    (void)std::fputs(why.c_str(), stderr);
    std::terminate();
  }

  void serve(size_t rank) {
    use_threads(settings_.threads);
    const c10::OptionalDeviceGuard on_device{settings_.devices[rank]};
    uint64_t served = 0;
    std::unique_lock lock{mutex_};
    while (true) {
      changed_.wait(lock, [&] { return stopping_ || round_ != served; });
      if (stopping_) break;
      served = round_;
      work_once(rank, lock);
    }
    lock.unlock();
    (void)failure_in([&] { collectives_[rank]->close(); });
    lock.lock();
    ++ended_;
    changed_.notify_all();
  }

  void work_once(size_t rank, std::unique_lock<std::mutex>& lock) {
    const Work& work = *work_;
    lock.unlock();
    const std::string why = failure_in([&] { work(rank, *collectives_[rank]); });
    lock.lock();
    done_[rank] = true;
    if (!why.empty() && failure_.empty()) failure_ = name_of(rank) + ": " + why;
    changed_.notify_all();
  }

  GroupSettings settings_;
  std::vector<std::shared_ptr<Collective>> collectives_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const Work* work_ = nullptr;  // of this round
  uint64_t round_ = 0;
  std::vector<bool> done_;  // with the work of this round
  std::string failure_;     // the first one
  bool stopping_ = false;
  size_t ended_ = 0;  // threads
  std::vector<std::thread> threads_;
};

}  // namespace

std::vector<std::shared_ptr<Collective>> host_collectives(size_t ranks,
                                                          std::chrono::milliseconds timeout) {
  const auto barrier = std::make_shared<Barrier>(ranks, timeout);
  std::vector<std::shared_ptr<Collective>> all;
  all.reserve(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    all.push_back(std::make_shared<HostCollective>(rank, barrier));
  }
  return all;
}

std::unique_ptr<RankGroup> make_rank_group(const GroupSettings& settings,
                                           std::vector<std::shared_ptr<Collective>> collectives) {
  return std::make_unique<ThreadedGroup>(settings, std::move(collectives));
}

std::unique_ptr<RankGroup> make_rank_group(const GroupSettings& settings) {
  if (settings.devices.front().is_cpu()) {
    return make_rank_group(settings, host_collectives(settings.devices.size(), settings.timeout));
  }
  auto group = make_rank_group(settings, nccl_collectives(settings.devices, settings.timeout));
  connect(*group, settings.devices);
  return group;
}

}  // namespace warpsmith::policy
