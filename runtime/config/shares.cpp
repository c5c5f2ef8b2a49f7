// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/shares.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

namespace warpsmith {
namespace {

constexpr std::array<std::string_view, 6> kinds{"1", "2", "3", "4", "5", "transformers"};

struct Share {
  std::string_view kind;
  double value = 0;
};

std::optional<Share> share_in(std::string_view part) {
  const size_t equals = part.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  Share share{part.substr(0, equals)};
  const std::string_view number = part.substr(equals + 1);
  const char* const begin = number.data();
  const char* const end = begin + number.size();
  const auto [stop, error] = std::from_chars(begin, end, share.value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return share;
}

/// Nothing if a part is no NUMBER=SHARE.
std::optional<std::vector<Share>> shares_in(std::string_view text) {
  std::vector<Share> shares;
  while (true) {
    const size_t comma = text.find(',');
    const auto share = share_in(text.substr(0, comma));
    if (!share) return std::nullopt;
    shares.push_back(*share);
    if (comma == std::string_view::npos) return shares;
    text.remove_prefix(comma + 1);
  }
}

bool is_good(const Share& share) {
  return std::ranges::find(kinds, share.kind) != kinds.end() && std::isfinite(share.value) &&
         share.value >= 0;
}

}  // namespace

std::optional<std::string> complaint_about_shares(const std::string& text) {
  const auto shares = shares_in(text);
  if (!shares) return "expected NUMBER=SHARE,…, got " + text;
  const bool any = std::ranges::any_of(*shares, [](const Share& s) { return s.value > 0; });
  if (any && std::ranges::all_of(*shares, is_good)) return std::nullopt;
  return "expected shares of 1 to 5 and transformers, got " + text;
}

}  // namespace warpsmith
