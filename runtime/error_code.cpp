// SPDX-License-Identifier: Apache-2.0
#include "runtime/error_code.hpp"

#include <array>

namespace warpsmith {

std::string_view to_string(ErrorCode code) noexcept {
  static constexpr std::array<std::string_view, 16> names{
      "invalid_config", "invalid_argument", "parse_failed", "not_found",
      "already_exists", "io_failed",        "disk_full",    "locked",
      "corrupt",        "timeout",          "capacity",     "stale",
      "unsupported",    "process_failed",   "peer_lost",    "infrastructure"};
  static_assert(static_cast<size_t>(ErrorCode::infrastructure) + 1 == names.size());
  const auto index = static_cast<size_t>(code);
  return index < names.size() ? names[index] : "unknown";
}

}  // namespace warpsmith
