// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/complaints.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/message_text.hpp"

namespace warpsmith {

std::string to_string(const Place& place) {
  return place.line > 0 ? fmt::format("{}:{}", place.source, place.line) : place.source;
}

void Complaints::at(const Place& place, std::string message) {
  list_.push_back({place, one_line(std::move(message))});
}

void Complaints::about(std::string_view key, const std::string& message) {
  const std::string name{key};
  at(place_of(name), name + ": " + message);
}

std::vector<std::string> Complaints::keys_with_prefix(const std::string& prefix) const {
  std::vector<std::string> names;
  for (auto it = places_.lower_bound(prefix); it != places_.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    names.push_back(it->first.substr(prefix.size()));
  }
  return names;
}

void Complaints::require(bool holds, std::string_view key, const std::string& message) {
  if (!holds) about(key, message);
}

Place Complaints::place_of(const std::string& key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? Place{default_source_, 0} : found->second;
}

std::string Complaints::text() const {
  std::vector<Complaint> sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Complaint& a, const Complaint& b) { return a.place < b.place; });
  std::string text;
  for (const Complaint& complaint : sorted) {
    if (!text.empty()) text += '\n';
    text += to_string(complaint.place) + ": " + complaint.message;
  }
  return text;
}

Result<void> Complaints::result() const {
  if (empty()) return {};
  return fail(ErrorCode::invalid_config, text());
}

}  // namespace warpsmith
