// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/attempt.hpp"

#include <algorithm>
#include <array>

#include "runtime/json.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

/// Fields that only numerics `paper` and GPUs fill; the journal leaves them out while empty.
constexpr std::array optional_fields{"device_held_ms", "strict", "weakness"};

void rename_field(json& object, const char* from, const char* to) {
  const auto found = object.find(from);
  if (found == object.end()) return;
  object[to] = std::move(*found);
  object.erase(from);
}

json shape_json(const ShapeAttempt& one) {
  json out = json_of(one.verdict);
  rename_field(out, "outcome", "verdict");
  rename_field(out, "shapes", "results");
  for (const char* name : optional_fields) {
    if (out[name].is_null() || out[name] == "") out.erase(name);
  }
  out["shape"] = one.shape;
  return out;
}

Result<ShapeAttempt> shape_in(json from, const std::string& place) {
  ShapeAttempt one;
  if (!from.is_object()) return fail(ErrorCode::parse_failed, place + ": expected an object");
  TRY(one.shape, from_json<std::string>(from.value("shape", json()), place + ".shape"));
  from.erase("shape");
  rename_field(from, "verdict", "outcome");
  rename_field(from, "results", "shapes");
  if (!from.contains("weakness")) from["weakness"] = "";
  TRY(one.verdict, from_json<Verdict>(from, place));
  return one;
}

}  // namespace

const ShapeResult* ShapeAttempt::times() const {
  const auto timed = std::ranges::find_if(
      verdict.shapes, [](const ShapeResult& s) { return !s.hidden && s.candidate_ms.has_value(); });
  return timed == verdict.shapes.end() ? nullptr : &*timed;
}

bool Attempt::correct() const {
  return !shapes.empty() &&
         std::ranges::all_of(shapes, [](const ShapeAttempt& s) { return s.verdict.is_rewarded(); });
}

std::string to_json_line(const Attempt& attempt) {
  json shapes = json::array();
  for (const ShapeAttempt& one : attempt.shapes) shapes.push_back(shape_json(one));
  return json_text(json{{"name", attempt.name},
                        {"role", to_string(attempt.role)},
                        {"key", attempt.key},
                        {"found", attempt.origin},
                        {"shapes", shapes}});
}

Result<Attempt> attempt_of(const std::string& line) {
  const json from = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!from.is_object()) return fail(ErrorCode::parse_failed, "expected a JSON object");
  Attempt attempt;
  TRY(attempt.name, from_json<std::string>(from.value("name", json()), "name"));
  TRY(attempt.role, from_json<AttemptRole>(from.value("role", json()), "role"));
  TRY(attempt.key, from_json<std::string>(from.value("key", json()), "key"));
  TRY(attempt.origin, from_json<std::string>(from.value("found", json()), "found"));
  const json shapes = from.value("shapes", json());
  if (!shapes.is_array()) return fail(ErrorCode::parse_failed, "shapes: expected an array");
  for (size_t i = 0; i < shapes.size(); ++i) {
    TRY(auto shape, shape_in(shapes[i], "shapes[" + std::to_string(i) + ']'));
    attempt.shapes.push_back(std::move(shape));
  }
  return attempt;
}

}  // namespace warpsmith::commands
