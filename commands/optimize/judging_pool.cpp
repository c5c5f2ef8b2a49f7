// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/judging_pool.hpp"

#include <memory>
#include <mutex>
#include <thread>
#include <variant>

namespace warpsmith::commands {
namespace {

/// The backend of one thread; made again after a loss.
class Judge {
 public:
  explicit Judge(const JudgingPool& pool, const SandboxBackendFactory& make)
      : pool_(pool), make_(make) {}

  std::variant<Attempt, InfraFailure> judge(const FoundSubmission& one, AttemptRole role) {
    Attempt attempt{one.name, role, one.key, one.found, {}};
    for (const DeclaredShape& shape : pool_.shapes) {
      auto judgement = judge_shape(one, shape);
      if (auto* failure = std::get_if<InfraFailure>(&judgement)) return std::move(*failure);
      attempt.shapes.push_back({shape.function, std::get<Verdict>(std::move(judgement))});
      if (!attempt.shapes.back().verdict.correct()) break;
    }
    return attempt;
  }

 private:
  /// One retry follows a failure that another try may not meet.
  Judgement judge_shape(const FoundSubmission& one, const DeclaredShape& shape) {
    auto judgement = judge_once(one, shape);
    const auto* failure = std::get_if<InfraFailure>(&judgement);
    const bool final = failure == nullptr || failure->kind == InfraKind::task_refused;
    return final || pool_.stopped() ? std::move(judgement) : judge_once(one, shape);
  }

  Judgement judge_once(const FoundSubmission& one, const DeclaredShape& shape) {
    if (!backend_ || backend_->lost()) {
      backend_.reset();  // its slot must be free before the next service takes it
      auto made = make_();
      if (!made) return InfraFailure{InfraKind::sandbox_lost, made.error().message};
      backend_ = std::move(*made);
    }
    const std::string place = one.name + " on " + shape.function + ": ";
    backend_->on_progress([this, place](const std::string& line) { pool_.progress(place + line); });
    Submission submission = one.submission;
    submission.task_id = shape.task.id;
    Task task = shape.task;
    task.device = one.device;
    return backend_->evaluate(task, submission, Request::final, pool_.evaluation);
  }

  const JudgingPool& pool_;
  const SandboxBackendFactory& make_;
  std::unique_ptr<SandboxBackend> backend_;
};

/// The submissions that are left, and what became of the others.
class Queue {
 public:
  Queue(const JudgingPool& pool, const std::vector<FoundSubmission>& submissions)
      : pool_(pool), submissions_(submissions) {}

  const FoundSubmission* next() {
    const std::scoped_lock lock(mutex_);
    const bool late = pool_.end && SteadyClock::now() >= *pool_.end;
    if (next_ == submissions_.size() || late || result_.error || pool_.stopped()) return nullptr;
    return &submissions_[next_++];
  }
  void take(const Attempt& attempt, const std::function<Result<void>(const Attempt&)>& judged) {
    const std::scoped_lock lock(mutex_);
    if (result_.error) return;
    if (auto kept = judged(attempt); !kept) result_.error = kept.error();
  }
  void take(const std::string& name, InfraFailure failure) {
    const std::scoped_lock lock(mutex_);
    if (pool_.stopped()) {  // Ctrl-C ends the services, and the failure is only that
      ++result_.not_begun;
      return;
    }
    result_.unjudged.push_back({name, std::move(failure)});
  }
  /// After all threads have ended.
  PoolResult result() {
    result_.not_begun += submissions_.size() - next_;
    return std::move(result_);
  }

 private:
  const JudgingPool& pool_;
  const std::vector<FoundSubmission>& submissions_;
  std::mutex mutex_;
  size_t next_ = 0;
  PoolResult result_;
};

}  // namespace

PoolResult judge_all(const JudgingPool& pool, const std::vector<FoundSubmission>& submissions,
                     AttemptRole role, const std::function<Result<void>(const Attempt&)>& judged) {
  Queue queue(pool, submissions);
  {
    std::vector<std::jthread> threads;
    threads.reserve(pool.slots.size());
    for (const SandboxBackendFactory& make : pool.slots) {
      threads.emplace_back([&] {
        Judge judge(pool, make);
        while (const FoundSubmission* one = queue.next()) {
          auto outcome = judge.judge(*one, role);
          if (auto* failure = std::get_if<InfraFailure>(&outcome)) {
            queue.take(one->name, std::move(*failure));
          } else {
            queue.take(std::get<Attempt>(outcome), judged);
          }
        }
      });
    }
  }
  return queue.result();
}

}  // namespace warpsmith::commands
