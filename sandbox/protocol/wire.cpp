// SPDX-License-Identifier: Apache-2.0
#include "sandbox/protocol/wire.hpp"

namespace warpsmith::sandbox {

Result<void> WireRequest::validate() const {
  if (version != wire_version) {
    return fail(ErrorCode::parse_failed, "sandbox request: version " + std::to_string(version) +
                                             ", expected " + std::to_string(wire_version));
  }
  if (static_cast<uint8_t>(kind) >= request_kinds) {
    return fail(ErrorCode::parse_failed,
                "sandbox request: unknown kind " + std::to_string(static_cast<int>(kind)));
  }
  constexpr uint64_t day_ms = 86'400'000;
  if (left_ms > day_ms) return fail(ErrorCode::parse_failed, "sandbox request: deadline too far");
  return {};
}

Result<void> WireAnswer::validate() const {
  if (code > ErrorCode::infrastructure) {
    return fail(ErrorCode::parse_failed,
                "sandbox answer: unknown error code " + std::to_string(static_cast<int>(code)));
  }
  return {};
}

}  // namespace warpsmith::sandbox
