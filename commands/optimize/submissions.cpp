// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/submissions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>
#include <variant>

#include "commands/check/check_call.hpp"
#include "runtime/bytes.hpp"
#include "sandbox/contract/contract.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_submissions = 10'000;

bool is_source_file(const fs::path& file) {
  return std::ranges::any_of(sandbox::all_contracts(), [&](const auto* contract) {
    return std::ranges::find(contract->endings, file.extension().string()) !=
           contract->endings.end();
  });
}

/// Why an entry is not a submission; empty if it may be one.
std::string exclusion_reason(const SubmissionFolder& from, const fs::directory_entry& entry) {
  std::error_code error;
  if (entry.path().filename().string().starts_with('.')) return "its name begins with a dot";
  if (!entry.is_directory(error)) {
    return is_source_file(entry.path()) ? "" : "no contract accepts such a file";
  }
  if (holds_solution(entry.path(), from.contract)) return "";
  return "expected " + expected_files(from.contract) + " in it, found none";
}

/// The entries of the folder that may be submissions, sorted.
Result<std::vector<fs::path>> entries_of(const SubmissionFolder& from,
                                         std::vector<std::string>& skipped) {
  std::error_code error;
  if (!fs::is_directory(from.folder, error)) {
    return fail(ErrorCode::not_found, from.option + ' ' + from.folder + ": no such folder");
  }
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(from.folder, error)) {
    const std::string why = exclusion_reason(from, entry);
    const bool lacks_kernel = !why.empty() && entry.is_directory(error);
    if (from.require_all && lacks_kernel && !entry.path().filename().string().starts_with('.')) {
      return fail(ErrorCode::invalid_argument,
                  from.option + ' ' + entry.path().string() + ": " + why);
    }
    if (why.empty()) found.push_back(entry.path());
    if (!why.empty()) skipped.push_back(entry.path().filename().string() + ": " + why);
  }
  std::ranges::sort(found);
  std::ranges::sort(skipped);
  if (found.empty() || found.size() > most_submissions) {
    const ErrorCode code = found.empty() ? ErrorCode::not_found : ErrorCode::invalid_argument;
    return fail(code,
                fmt::format("{} {}: expected 1 to {} folders with a kernel or source files, got {}",
                            from.option, from.folder, most_submissions, found.size()));
  }
  return found;
}

std::string key_of(const Submission& submission) {
  std::string all = submission.contract;
  for (const auto& [name, content] : submission.files) {
    all += '\0' + name + '\0' + sha256_hex(content);
  }
  return sha256_hex(all);
}

Result<FoundSubmission> read_one(const SubmissionFolder& from, const fs::path& entry) {
  CheckArguments arguments;
  arguments.place = entry;
  arguments.task = from.operator_file;
  arguments.contract = from.contract;
  auto call = check_call(arguments);
  if (!call) return fail(from.option, call.error());
  FoundSubmission out{entry.filename(), entry, key_of(call->submission), {}, call->task.device};
  out.submission = std::move(call->submission);
  return out;
}

// --- judging

/// The backend of one thread; made again after it was lost.
class Judge {
 public:
  explicit Judge(const JudgingPool& pool, const SandboxBackendFactory& make)
      : pool_(pool), make_(make) {}

  std::variant<Attempt, InfraFailure> judge(const FoundSubmission& one, AttemptRole role) {
    Attempt attempt{one.name, role, one.key, one.origin, {}};
    for (const DeclaredShape& shape : pool_.shapes) {
      auto judgement = judge_shape(one, shape);
      if (auto* failure = std::get_if<InfraFailure>(&judgement)) return std::move(*failure);
      attempt.shapes.push_back({shape.function, std::get<Verdict>(std::move(judgement))});
      if (!attempt.shapes.back().verdict.correct()) break;
    }
    return attempt;
  }

 private:
  /// A failure that may not recur is retried once.
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
    return backend_->evaluate({task, submission, Request::final},
                              Deadline::after(pool_.evaluation));
  }

  const JudgingPool& pool_;
  const SandboxBackendFactory& make_;
  std::unique_ptr<sandbox::Backend> backend_;
};

/// The submissions that are left, and the result so far.
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
    if (pool_.stopped()) {  // Ctrl-C ended the service: this is not a failure
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

Result<std::vector<FoundSubmission>> read_submissions(const SubmissionFolder& from,
                                                      std::vector<std::string>& skipped) {
  TRY(const auto entries, entries_of(from, skipped));
  std::vector<FoundSubmission> out;
  for (const fs::path& entry : entries) {
    auto one = read_one(from, entry);
    if (!one && from.require_all) return tl::unexpected(std::move(one.error()));
    if (one) {
      out.push_back(std::move(*one));
    } else {
      skipped.push_back(entry.filename().string() + ": " + one.error().message);
    }
  }
  if (out.empty())
    return fail(from.option, {ErrorCode::not_found, "none is usable: " + skipped.back()});
  return out;
}

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
