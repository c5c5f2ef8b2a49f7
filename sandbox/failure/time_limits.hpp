// SPDX-License-Identifier: Apache-2.0
// Decides what is to blame when time runs out: the limit of one wait, and the candidate's share of
// an evaluation's time.
#pragma once

#include <chrono>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/text.hpp"
#include "sandbox/failure/failure.hpp"

namespace warpsmith::sandbox {

/// When a wait must end, and what is to blame if that time passes.
struct Patience {
  Deadline by;
  Blame blame = Blame::deadline;

  Patience(Deadline deadline) : by(deadline) {}
  /// At most `most`, blamed on `whose`, within `outer`, which is to blame if it leaves less.
  Patience(Blame whose, std::chrono::milliseconds most, Patience outer) : Patience(outer) {
    const Deadline own = Deadline::after(most);
    if (own.at() > outer.by.at()) return;
    by = own;
    blame = whose;
  }

  /// The failure of a wait.
  Failure failure_of(Error error) const {
    Failure failure{std::move(error)};
    if (failure.code == ErrorCode::timeout) failure.blame = blame;
    return failure;
  }
};

/// The time that the candidate's own code takes in one evaluation. A candidate that exceeds the
/// deadline by its own slowness gets a verdict; a failure of the machine would cost it nothing. Not
/// thread-safe.
class CandidateTime {
 public:
  /// `least`: time that any candidate may take. A cut-off before that means the deadline was too
  /// short.
  CandidateTime(Deadline deadline, std::chrono::nanoseconds least)
      : deadline_(deadline), given_(deadline.left()), least_(least) {}

  void add(std::chrono::nanoseconds span) { spent_ += span; }

  /// Whether the deadline passed and the candidate took more than half of the time until then.
  bool caused_timeout() const {
    return deadline_.passed() && 2 * spent_ > given_ && spent_ > least_;
  }
  std::string text() const {
    return "its compilation, import and calls took " + duration_text(spent_) +
           " of the evaluation's " + duration_text(given_);
  }

 private:
  Deadline deadline_;
  std::chrono::nanoseconds given_, least_, spent_{0};
};

/// Adds its lifetime to `time` unless that is null.
class CandidateTimer {
 public:
  explicit CandidateTimer(CandidateTime* time) : time_(time), began_(SteadyClock::now()) {}
  ~CandidateTimer() {
    if (time_ != nullptr) time_->add(SteadyClock::now() - began_);
  }
  CandidateTimer(const CandidateTimer&) = delete;
  CandidateTimer& operator=(const CandidateTimer&) = delete;

 private:
  CandidateTime* time_;
  SteadyClock::time_point began_;
};

}  // namespace warpsmith::sandbox
