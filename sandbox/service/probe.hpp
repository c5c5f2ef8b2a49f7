// SPDX-License-Identifier: Apache-2.0
// The jail that this machine supports, for `doctor` and the service's health.
#pragma once

#include <map>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// Starts a `run` jail without a candidate and returns its report. Fails with the reason if no jail
/// can be made. `runner`: path of warpsmith-sandbox.
Result<std::map<std::string, std::string>> probe_run_jail(const std::string& runner,
                                                          Deadline deadline);

}  // namespace warpsmith::sandbox
