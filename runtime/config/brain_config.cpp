// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/brain_config.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace warpsmith {
namespace {

constexpr std::array<std::string_view, 2> tools_names{"native", "text"};
constexpr std::chrono::milliseconds shortest{100};

bool is_variable_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool digit_first = !name.empty() && name.front() >= '0' && name.front() <= '9';
  return !digit_first && name.size() <= 128 && std::ranges::all_of(name, allowed);
}

/// A key in the URL would be stored with the run.
bool is_plain_url(std::string_view url) {
  const bool http = url.starts_with("http://") || url.starts_with("https://");
  const bool printable = std::ranges::all_of(url, [](char c) { return c > ' ' && c < 127; });
  return http && printable && url.find_first_of("@?#") == std::string_view::npos;
}

void require_without_place(bool holds, const std::string& table, Complaints& complaints,
                           const std::string& message) {
  if (!holds) complaints.at({'[' + table + ']', 0}, table + message);
}

void validate_endpoint(const BrainConfig& c, Complaints& complaints) {
  complaints.require(c.candidates.empty(), "brain.candidates",
                     "expected either brain.url or brain.candidates, got both");
  validate_url("brain", c.url, complaints);
  complaints.require(!c.model.empty(), "brain.model", "expected a name: brain.url needs one");
}

void validate_budget(const BrainConfig& c, Complaints& complaints) {
  const auto positive = [&](bool good, std::string_view key) {
    complaints.require(good, key,
                       "a budget of 0 allows no request: expected more than 0, or -1 for no limit");
  };
  positive(c.max_requests != 0, "brain.max_requests");
  positive(c.max_tokens != 0, "brain.max_tokens");
  positive(c.max_cost == -1 || c.max_cost > 0, "brain.max_cost");
  complaints.require(c.max_cost <= 0 || c.price_in + c.price_out > 0, "brain.max_cost",
                     "expected brain.price_in and brain.price_out too: without prices, every "
                     "answer costs nothing");
}

}  // namespace

void validate_url(const std::string& table, const std::string& url, Complaints& complaints) {
  require_without_place(
      is_plain_url(url), table, complaints,
      ".url: expected http://… or https://… without user, query and fragment; a key "
      "belongs into the variable that " +
          table + ".key_env names");
}

void validate_key_env(const std::string& table, const std::string& name, Complaints& complaints) {
  require_without_place(
      is_variable_name(name), table, complaints,
      ".key_env: expected the name of an environment variable (letters, digits, _) "
      "that contains the key, not the key itself");
}

bool has_brain(const BrainConfig& c) {
  return !c.url.empty() || !c.candidates.empty();
}

void describe(Fields& fields, BrainConfig& c) {
  fields.text("url", c.url);
  fields.text("model", c.model);
  fields.text("key_env", c.key_env);
  fields.path("candidates", c.candidates);
  fields.choice_of("tools", c.tools, tools_names);
  fields.integer("concurrency", c.concurrency, {.low = 1, .high = 256});
  fields.real("temperature", c.temperature, {.low = 0, .high = 10});
  fields.flag("stream", c.stream);
  fields.text("extra", c.extra);
  fields.integer("retries", c.retries, {.low = 0, .high = 100});
  fields.duration("connect_timeout", c.connect_timeout, {.low = shortest});
  fields.duration("silence_timeout", c.silence_timeout, {.low = shortest});
  fields.duration("request_timeout", c.request_timeout, {.low = shortest});
  fields.duration("max_wait", c.max_wait, {.low = std::chrono::milliseconds{1}});
  fields.integer("max_requests", c.max_requests, {.low = -1});
  fields.integer("max_tokens", c.max_tokens, {.low = -1});
  fields.real("max_cost", c.max_cost, {.low = -1});
  fields.real("price_in", c.price_in, {.low = 0, .high = 1e9});
  fields.real("price_out", c.price_out, {.low = 0, .high = 1e9});
}

void validate(const BrainConfig& c, Complaints& complaints) {
  validate_key_env("brain", c.key_env, complaints);
  if (!c.url.empty()) validate_endpoint(c, complaints);
  validate_budget(c, complaints);
}

}  // namespace warpsmith
