// SPDX-License-Identifier: Apache-2.0
#include "sandbox/failure/fault.hpp"

namespace warpsmith::sandbox {

Failure failure_of(const Fault& fault, const std::string& place) {
  const bool cut = fault.outcome == VerdictClass::timeout;
  return {fault.blame, cut ? ErrorCode::timeout : ErrorCode::infrastructure,
          place + ": " + fault.detail};
}

}  // namespace warpsmith::sandbox
