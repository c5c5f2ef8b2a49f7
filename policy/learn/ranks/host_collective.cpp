// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/ranks/host_collective.hpp"

#include <ATen/core/grad_mode.h>

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace warpsmith::policy {
namespace {

/// Where ranks wait for each other.
class Meeting {
 public:
  Meeting(size_t ranks, std::chrono::milliseconds timeout)
      : timeout_(timeout), buffers_(ranks), missing_(ranks) {}

  size_t ranks() const { return buffers_.size(); }
  /// Valid between two meetings.
  at::Tensor& buffer(size_t rank) { return buffers_[rank]; }

  /// Returns when all ranks have come.
  void meet() {
    std::unique_lock lock{mutex_};
    const uint64_t round = round_;
    if (!aborted_ && --missing_ == 0) {
      missing_ = ranks();
      ++round_;
      all_came_.notify_all();
      return;
    }
    const bool in_time =
        all_came_.wait_for(lock, timeout_, [&] { return aborted_ || round_ != round; });
    if (round_ != round) return;
    throw std::runtime_error(in_time ? "another rank has failed"
                                     : "the other ranks did not come to a collective in time");
  }

  void abort() {
    const std::lock_guard lock{mutex_};
    aborted_ = true;
    all_came_.notify_all();
  }

 private:
  std::chrono::milliseconds timeout_;
  std::vector<at::Tensor> buffers_;
  std::mutex mutex_;
  std::condition_variable all_came_;
  size_t missing_;  // of this round
  uint64_t round_ = 0;
  bool aborted_ = false;
};

class HostCollective final : public Collective {
 public:
  HostCollective(size_t rank, std::shared_ptr<Meeting> meeting)
      : rank_(rank), meeting_(std::move(meeting)) {}

  void reduce_scatter(const at::Tensor& all, at::Tensor& own) override {
    const at::NoGradGuard no_grad;
    show(all);
    at::Tensor sum = part_of(0, rank_, own.numel()).clone();
    for (size_t r = 1; r < meeting_->ranks(); ++r) sum.add_(part_of(r, rank_, own.numel()));
    own.copy_(sum);  // no other rank reads this part
    meeting_->meet();
  }

  void all_gather(const at::Tensor& own, at::Tensor& all) override {
    const at::NoGradGuard no_grad;
    show(all);
    for (size_t r = 0; r < meeting_->ranks(); ++r) {
      if (r != rank_)
        all.narrow(0, first_of(r, own), own.numel()).copy_(part_of(r, r, own.numel()));
    }
    meeting_->meet();
  }

  void abort() override { meeting_->abort(); }

 private:
  void show(const at::Tensor& all) {
    meeting_->buffer(rank_) = all;
    meeting_->meet();
  }
  static int64_t first_of(size_t part, const at::Tensor& own) {
    return static_cast<int64_t>(part) * own.numel();
  }
  at::Tensor part_of(size_t rank, size_t part, int64_t size) {
    return meeting_->buffer(rank).narrow(0, static_cast<int64_t>(part) * size, size);
  }

  size_t rank_;
  std::shared_ptr<Meeting> meeting_;
};

}  // namespace

std::vector<std::shared_ptr<Collective>> host_collectives(size_t ranks,
                                                          std::chrono::milliseconds timeout) {
  const auto meeting = std::make_shared<Meeting>(ranks, timeout);
  std::vector<std::shared_ptr<Collective>> all;
  all.reserve(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    all.push_back(std::make_shared<HostCollective>(rank, meeting));
  }
  return all;
}

}  // namespace warpsmith::policy
