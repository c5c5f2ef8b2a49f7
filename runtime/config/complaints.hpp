// SPDX-License-Identifier: Apache-2.0
// Everything that is wrong with a configuration, collected so that all of it is reported at once.
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

/// "configs/x.toml:12", or the source alone when there is no line.
std::string to_string(const Place& place);

struct Complaint {
  Place place;
  std::string message;  // names the key, what was expected and what was there
};

/// Collects complaints, and remembers which place set which key, so that a check that runs long
/// after reading can still point at the line.
class Complaints {
 public:
  /// `default_source` stands for keys that nobody set.
  explicit Complaints(std::string default_source = "configuration")
      : default_source_(std::move(default_source)) {}

  void at(const Place& place, std::string message);
  /// About a dotted key, at the place that set it; the key goes in front of the message.
  void about(std::string_view key, const std::string& message);
  /// `require(c.low < c.high, "learner.clip_low", "…")`: complains when `holds` is false.
  void require(bool holds, std::string_view key, const std::string& message);

  void remember(const std::string& key, Place place) { places_[key] = std::move(place); }
  bool was_set(const std::string& key) const { return places_.contains(key); }

  bool empty() const { return list_.empty(); }
  /// One line each, in order of place.
  std::string text() const;
  /// `invalid_config` with the whole text, or success.
  Result<void> result() const;

 private:
  Place place_of(const std::string& key) const;

  std::string default_source_;
  std::vector<Complaint> list_;
  std::map<std::string, Place> places_;
};

}  // namespace warpsmith
