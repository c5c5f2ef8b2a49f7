// SPDX-License-Identifier: Apache-2.0
// Collects all errors in a configuration, so that they are reported together.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith {

/// Where a value came from: a file and its line, or an option such as `--set a.b=1` (line 0).
struct Place {
  std::string source;
  int64_t line = 0;

  auto operator<=>(const Place&) const = default;
};

/// "configs/x.toml:12", or only the source if there is no line.
std::string to_string(const Place& place);

struct Complaint {
  Place place;
  std::string message;  // the key, the expected value, the actual value
};

/// Collects complaints and remembers where each key was set, so that a later check can still point
/// to the line.
class Complaints {
 public:
  /// `default_source` is the place of keys that were not set.
  explicit Complaints(std::string default_source = "configuration")
      : default_source_(std::move(default_source)) {}

  void at(const Place& place, std::string message);
  /// Complains about a dotted key at the place that set it; puts the key in front of the message.
  void about(std::string_view key, const std::string& message);
  /// Complains if `holds` is false: `require(c.low < c.high, "learner.loss.clip_low", "…")`.
  void require(bool holds, std::string_view key, const std::string& message);

  void remember(const std::string& key, Place place) { places_[key] = std::move(place); }
  bool was_set(const std::string& key) const { return places_.contains(key); }
  /// The remembered keys that begin with `prefix`, without it.
  std::vector<std::string> keys_with_prefix(const std::string& prefix) const;

  bool empty() const { return list_.empty(); }
  /// One line per complaint, sorted by place.
  std::string text() const;
  /// Success, or `invalid_config` with the whole text.
  Result<void> result() const;

 private:
  Place place_of(const std::string& key) const;

  std::string default_source_;
  std::vector<Complaint> list_;
  std::map<std::string, Place> places_;
};

}  // namespace warpsmith
