// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/bounded_queue.hpp"

#include <httplib.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace warpsmith::commands {
namespace {

thread_local bool refusing = false;

class BoundedQueue : public httplib::TaskQueue {
 public:
  BoundedQueue(size_t threads, size_t waiting) : waiting_(std::max<size_t>(waiting, 1)) {
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(served_); });
    threads_.emplace_back([this] {
      refusing = true;
      work(refused_);
    });
  }
  ~BoundedQueue() override { end(); }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return has_room(served_) || has_room(refused_); });
    (has_room(served_) ? served_ : refused_).push_back(std::move(task));
    changed_.notify_all();
  }
  /// Waits for what is queued, as the library's own pool does.
  void shutdown() override { end(); }

 private:
  using Tasks = std::deque<std::function<void()>>;

  bool has_room(const Tasks& tasks) const { return tasks.size() < waiting_; }

  void work(Tasks& from) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ended_ || !from.empty(); });
      if (from.empty()) return;
      const std::function<void()> task = std::move(from.front());
      from.pop_front();
      changed_.notify_all();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  void end() {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    threads_.clear();
  }

  const size_t waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Tasks served_, refused_;
  bool ended_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace

httplib::TaskQueue* make_bounded_queue(size_t threads, size_t waiting) {
  return new BoundedQueue(threads, waiting);
}

bool is_refusing() {
  return refusing;
}

}  // namespace warpsmith::commands
