// SPDX-License-Identifier: Apache-2.0
#include "synthesis/composition.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/json_text.hpp"

namespace warpsmith::synthesis {
namespace {

using Json = nlohmann::json;

constexpr size_t most_letters = 500, most_detail = 1200;  // bytes; a detail has up to 300 letters
constexpr size_t most_operators = 16, most_code = size_t{1} << 20U;
constexpr size_t most_steps = 32;

/// The text of `key`; if it is missing or too long, empty with `wrong` set to the key.
std::string text_of(const Json& object, const char* key, size_t most, std::string& wrong) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return wrong = key, "";
  auto text = found->get<std::string>();
  if (text.size() > most) return wrong = key, "";
  return text;
}

/// An id is used as a file name.
bool is_file_name(const std::string& id) {
  return !id.empty() &&
         std::ranges::all_of(id, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

void read_operators(const Json& row, Composition& to, std::string& wrong) {
  const auto ops = row.find("ops");
  const bool fits = ops != row.end() && ops->is_array() && ops->size() <= most_operators &&
                    std::ranges::all_of(*ops, [](const Json& op) { return op.is_string(); });
  if (!fits) return (void)(wrong = "ops");
  for (const Json& op : *ops) to.ops.push_back(op.get<std::string>());
}

void read_time(const Json& row, Composition& to, std::string& wrong) {
  const auto time = row.find("eager_ms");
  const bool fits = time != row.end() && time->is_number() && std::isfinite(time->get<double>());
  if (!fits) return (void)(wrong = "eager_ms");
  to.eager_ms = time->get<double>();
}

/// Records of earlier versions have none.
void read_steps(const Json& record, Composition& to, std::string& wrong) {
  const auto steps = record.find("steps");
  if (steps == record.end()) return;
  const bool fits = steps->is_object() && steps->size() <= most_steps;
  if (!fits) return (void)(wrong = "steps");
  for (const auto& [name, seconds] : steps->items()) {
    const bool good =
        name.size() <= most_letters && seconds.is_number() && std::isfinite(seconds.get<double>());
    if (!good) return (void)(wrong = "steps");
    to.steps[name] = seconds.get<double>();
  }
}

void read_row(const Json& row, Composition& to, std::string& wrong) {
  to.id = text_of(row, "id", most_letters, wrong);
  to.code = text_of(row, "code", most_code, wrong);
  to.hash = text_of(row, "hash", most_letters, wrong);
  read_operators(row, to, wrong);
  read_time(row, to, wrong);
  if (wrong.empty() && !is_file_name(to.id)) wrong = "id";
  if (wrong.empty() && (to.code.empty() || to.hash.empty())) wrong = "code or hash";
}

tl::unexpected<Error> wrong_record(const std::string& key) {
  return fail(ErrorCode::parse_failed, "composition: " + key + ": missing, or of another form");
}

}  // namespace

Result<Composition> parse_composition(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return fail(ErrorCode::parse_failed, "composition: expected an object");
  const auto index = json.find("index"), reason = json.find("reason"), row = json.find("row");
  if (index == json.end() || !index->is_number_unsigned()) return wrong_record("index");
  Composition found{.index = index->get<uint64_t>()};
  std::string wrong;
  if (reason != json.end() && reason->is_null()) {
    if (row == json.end() || !row->is_object()) return wrong_record("row");
    read_row(*row, found, wrong);
  } else {
    found.reason = text_of(json, "reason", most_letters, wrong);
    found.detail = json.contains("detail") ? text_of(json, "detail", most_detail, wrong) : "";
    if (wrong.empty() && found.reason.empty()) wrong = "reason";
  }
  if (wrong.empty()) read_steps(json, found, wrong);
  if (!wrong.empty()) return wrong_record(wrong);
  return found;
}

std::string to_json(const Composition& c) {
  Json record{{"index", c.index}};
  if (c.accepted()) {
    record["reason"] = nullptr;
    record["row"] = {
        {"id", c.id}, {"ops", c.ops}, {"code", c.code}, {"hash", c.hash}, {"eager_ms", c.eager_ms}};
  } else {
    record["reason"] = c.reason;
    record["detail"] = c.detail;
  }
  if (!c.steps.empty()) record["steps"] = c.steps;
  return json_text(record);
}

}  // namespace warpsmith::synthesis
