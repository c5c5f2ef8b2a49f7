// SPDX-License-Identifier: Apache-2.0
#include "commands/optimize/attempt.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/json_text.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

json interval_json(const std::optional<Interval>& value) {
  return value ? json{value->low, value->high} : json(nullptr);
}

json further_attempt_json(const FurtherResult& one) {
  return {{"name", one.name},
          {"reason", one.reason},
          {"ms", nullable(one.ms)},
          {"speedup", nullable(one.speedup)},
          {"speedup_interval", interval_json(one.speedup_ci)}};
}

json result_json(const ShapeResult& shape) {
  json further = json::array();
  for (const FurtherResult& one : shape.further) further.push_back(further_attempt_json(one));
  return {{"shape", shape.shape},
          {"hidden", shape.hidden},
          {"candidate_ms", nullable(shape.candidate_ms)},
          {"eager_ms", nullable(shape.eager_ms)},
          {"compile_ms", nullable(shape.compile_ms)},
          {"speedup_eager", nullable(shape.speedup_eager)},
          {"speedup_compile", nullable(shape.speedup_compile)},
          {"speedup_eager_interval", interval_json(shape.speedup_eager_ci)},
          {"speedup_compile_interval", interval_json(shape.speedup_compile_ci)},
          {"worst_error", nullable(shape.worst_error)},
          {"gbytes_per_s", nullable(shape.gbytes_per_s)},
          {"gflops_per_s", nullable(shape.gflops_per_s)},
          {"roofline_ms", nullable(shape.roofline_ms)},
          {"further", further}};
}

json evidence_json(const std::string& evidence) {
  if (evidence.empty()) return nullptr;
  json parsed = json::parse(evidence, nullptr, false);
  return parsed.is_discarded() ? json(evidence) : parsed;
}

json shape_json(const ShapeAttempt& one) {
  const Verdict& v = one.verdict;
  json results = json::array();
  for (const ShapeResult& result : v.shapes) results.push_back(result_json(result));
  return {{"shape", one.shape},
          {"verdict", to_string(v.outcome)},
          {"contract", v.contract},
          {"trust", to_string(v.trust)},
          {"submission_hash", v.submission_hash},
          {"feedback", v.feedback},
          {"jail", v.jail},
          {"phase_ms", v.phase_ms},
          {"results", results},
          {"evidence", evidence_json(v.evidence)}};
}

// --- Reading: the library's exceptions end in `attempt_of`.

std::optional<double> number_in(const json& from, const char* key) {
  const json& value = from.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

std::optional<Interval> interval_in(const json& from, const char* key) {
  const json& value = from.at(key);
  if (value.is_null()) return std::nullopt;
  return Interval{value.at(0).get<double>(), value.at(1).get<double>()};
}

ShapeResult result_in(const json& from) {
  ShapeResult shape;
  shape.shape = from.at("shape");
  shape.hidden = from.at("hidden");
  shape.candidate_ms = number_in(from, "candidate_ms");
  shape.eager_ms = number_in(from, "eager_ms");
  shape.compile_ms = number_in(from, "compile_ms");
  shape.speedup_eager = number_in(from, "speedup_eager");
  shape.speedup_compile = number_in(from, "speedup_compile");
  shape.speedup_eager_ci = interval_in(from, "speedup_eager_interval");
  shape.speedup_compile_ci = interval_in(from, "speedup_compile_interval");
  shape.worst_error = number_in(from, "worst_error");
  shape.gbytes_per_s = number_in(from, "gbytes_per_s");
  shape.gflops_per_s = number_in(from, "gflops_per_s");
  shape.roofline_ms = number_in(from, "roofline_ms");
  for (const json& one : from.at("further")) {
    shape.further.push_back({one.at("name"), one.at("reason"), number_in(one, "ms"),
                             number_in(one, "speedup"), interval_in(one, "speedup_interval")});
  }
  return shape;
}

template <class Enum>
Enum named_value(const std::string& name, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (to_string(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  throw std::invalid_argument("unknown name \"" + name + '"');
}

ShapeAttempt shape_in(const json& from) {
  ShapeAttempt one;
  one.shape = from.at("shape");
  Verdict& v = one.verdict;
  v.outcome = named_value<VerdictClass>(from.at("verdict"), verdict_class_count);
  constexpr size_t trust_classes = 4;
  v.trust = named_value<TrustClass>(from.at("trust"), trust_classes);
  v.contract = from.at("contract");
  v.submission_hash = from.at("submission_hash");
  v.feedback = from.at("feedback");
  v.jail = from.at("jail").get<std::map<std::string, std::string>>();
  v.phase_ms = from.at("phase_ms").get<std::map<std::string, double>>();
  for (const json& result : from.at("results")) v.shapes.push_back(result_in(result));
  const json& evidence = from.at("evidence");
  if (evidence.is_string()) v.evidence = evidence.get<std::string>();
  if (evidence.is_structured()) v.evidence = json_text(evidence);
  return one;
}

AttemptRole role_in(const json& from) {
  const std::string role = from.at("role");
  if (role == "candidate") return AttemptRole::candidate;
  if (role == "user_kernel") return AttemptRole::user_kernel;
  throw std::invalid_argument("unknown role \"" + role + '"');
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
  return json_text(
      json{{"name", attempt.name},
           {"role", attempt.role == AttemptRole::candidate ? "candidate" : "user_kernel"},
           {"key", attempt.key},
           {"found", attempt.found},
           {"shapes", shapes}});
}

Result<Attempt> attempt_of(const std::string& line) {
  try {
    const json from = json::parse(line);
    Attempt attempt{from.at("name"), role_in(from), from.at("key"), from.at("found"), {}};
    for (const json& one : from.at("shapes")) attempt.shapes.push_back(shape_in(one));
    return attempt;
  } catch (const std::exception& error) {
    return fail(ErrorCode::parse_failed, error.what());
  }
}

}  // namespace warpsmith::commands
