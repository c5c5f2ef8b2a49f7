// SPDX-License-Identifier: Apache-2.0
// The limit of one wait.
#pragma once

#include <algorithm>

#include "runtime/clock.hpp"
#include "sandbox/failure/failure.hpp"

namespace warpsmith::sandbox {

/// When a wait must end, and what is to blame if it ends by that.
struct Patience {
  Deadline by;
  Blame blame = Blame::deadline;

  Patience(Deadline deadline) : by(deadline) {}
  /// `most` for what `whose` does, within `outer`, which is to blame where it leaves less.
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

}  // namespace warpsmith::sandbox
