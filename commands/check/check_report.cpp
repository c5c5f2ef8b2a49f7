// SPDX-License-Identifier: Apache-2.0
#include "commands/check/check_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "commands/slots.hpp"
#include "commands/verdict_words.hpp"
#include "policy/learn/reward.hpp"
#include "runtime/cuda/clock_sample.hpp"
#include "runtime/json.hpp"
#include "sandbox/ingest/mutant_words.hpp"

namespace warpsmith::commands {
namespace {

using nlohmann::json;

/// The shape whose speed-up against eager is the lowest; the first if none was timed.
const ShapeResult* worst_shape(const Verdict& verdict) {
  const auto worst = std::ranges::min_element(
      verdict.shapes, {}, [](const ShapeResult& s) { return s.speedup_eager.value_or(1e30); });
  return worst == verdict.shapes.end() ? nullptr : &*worst;
}

/// The further baselines by name; a requested one that was not measured has a reason.
json further_json(const std::vector<FurtherResult>& further) {
  json out = json::object();
  for (const FurtherResult& one : further) {
    json& entry = out[one.name] = json_of(one);
    entry.erase("name");
    if (one.reason.empty()) entry["reason"] = nullptr;
  }
  return out.empty() ? json(nullptr) : out;
}

json times(const ShapeResult& shape) {
  json out = json_of(shape);
  for (const char* name : {"shape", "hidden", "further"}) out.erase(name);
  out["further_baselines"] = further_json(shape.further);
  return out;
}

/// True if everything that a reward depends on was measured.
bool is_rewarded(Request request) {
  return request == Request::final || request == Request::profile;
}

/// The verdict's class; "compiled" for a solution that compiled and was not run.
std::string class_name(const Verdict& v, Request request) {
  return runs(request) || !v.correct() ? std::string{to_string(v.outcome)} : "compiled";
}

/// The GPU's clocks while it was timed: a summary, or why there is none; null on a CPU.
json clocks_of(const json& evidence) {
  if (!evidence.is_object()) return nullptr;
  const json clocks = evidence.value(json::json_pointer("/timing/clocks"), json());
  return clocks.is_object() ? clocks.value("summary", clocks) : json(nullptr);
}

/// The sizes that were verified but not shown to the author of the kernel.
json hidden_shapes(const Verdict& verdict) {
  json list = json::array();
  for (const ShapeResult& s : verdict.shapes) {
    if (!s.hidden) continue;
    list.push_back({{"shape", s.shape}, {"worst_error", nullable(s.worst_error)}});
  }
  return list;
}

json verdict_json(const Verdict& v, Request request) {
  const ShapeResult* shape = worst_shape(v);
  json out = times(shape != nullptr ? *shape : ShapeResult{});
  out["hidden_shapes"] = hidden_shapes(v);
  out["verdict"] = class_name(v, request);
  out["contract"] = v.contract;
  out["trust"] = runs(request) ? json(to_string(v.trust)) : json(nullptr);
  out["correct"] = runs(request) || !v.correct() ? json(v.correct()) : json(nullptr);
  out["reward"] =
      is_rewarded(request) ? json(policy::reward_of(v, RewardRule::milestone)) : json(nullptr);
  out["strict"] = json_of(v.strict);
  out["accepted_mutants"] = v.weakness.empty() ? json(nullptr) : json(v.weakness);
  out["submission_hash"] = v.submission_hash;
  out["feedback"] = v.feedback;
  out["jail"] = v.jail;
  out["phase_ms"] = v.phase_ms;
  out["evidence"] = json_of(v.evidence);
  out["clocks"] = clocks_of(out["evidence"]);
  return out;
}

json failure_json(const InfraFailure& failure) {
  json out = times({});
  for (const char* key : {"contract", "trust", "correct", "reward", "strict", "accepted_mutants",
                          "jail", "evidence", "clocks", "hidden_shapes"}) {
    out[key] = nullptr;
  }
  out["verdict"] = to_string(failure.kind);
  out["feedback"] = failure.detail;
  return out;
}

std::string speedup_line(const char* against, const std::optional<double>& speedup,
                         const std::optional<Interval>& ci) {
  if (!speedup) return {};
  if (!ci) return fmt::format("  {:.2f}x {}\n", *speedup, against);
  return fmt::format("  {:.2f}x {} (95 % interval {:.2f} to {:.2f})\n", *speedup, against, ci->low,
                     ci->high);
}

std::string further_lines(const std::vector<FurtherResult>& further) {
  std::string out;
  for (const FurtherResult& one : further) {
    out += one.reason.empty() ? speedup_line(one.name.c_str(), one.speedup, one.speedup_interval)
                              : "  " + one.name + " not measured: " + one.reason + '\n';
  }
  return out;
}

/// The SM clock and the reasons that limited it; empty if it was not read.
std::string clock_line(const Verdict& v) {
  const json clocks = clocks_of(json_of(v.evidence));
  if (!clocks.is_object() || !clocks.value("median_sm_mhz", json()).is_number()) return {};
  std::string out =
      fmt::format("  SM clock {:.0f} MHz, lowest {:.0f}", clocks["median_sm_mhz"].get<double>(),
                  clocks["lowest_sm_mhz"].get<double>());
  for (const auto& [reason, count] : clocks["reasons"].items()) {
    if (!cuda::slows_down(reason)) continue;
    out += fmt::format(", {} in {} of {} readings", reason, count.get<int>(),
                       clocks["readings"].get<int>());
  }
  return out + '\n';
}

/// The jail's primitives in force; empty if nothing ran or was compiled.
std::string jail_line(const std::map<std::string, std::string>& jail) {
  std::string out;
  for (const auto& [primitive, in_force] : jail) {
    out += out.empty() ? "  jail: " : ", ";
    out.append(primitive).append(1, ' ').append(in_force);
  }
  return out.empty() ? out : out + '\n';
}

json judgement_object(const Judgement& judgement, Request request) {
  const auto* verdict = std::get_if<Verdict>(&judgement);
  return verdict != nullptr ? verdict_json(*verdict, request)
                            : failure_json(std::get<InfraFailure>(judgement));
}

// Compiler messages quote the submission, whose bytes need not be UTF-8.
std::string text_of(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool is_correct(const Judgement& judgement) {
  const auto* verdict = std::get_if<Verdict>(&judgement);
  return verdict != nullptr && verdict->correct();
}

/// Against eager; infinite if it was not timed. Requires a correct verdict.
double lowest_speedup(const Judgement& judgement) {
  const ShapeResult* shape = worst_shape(std::get<Verdict>(judgement));
  return shape == nullptr ? HUGE_VAL : shape->speedup_eager.value_or(HUGE_VAL);
}

/// A short record: only the decisive judgement has evidence.
json shape_object(const JudgedShape& one, Request request) {
  const json all = judgement_object(one.judgement, request);
  json out{{"shape", one.function}};
  for (const char* name :
       {"verdict", "correct", "feedback", "candidate_ms", "eager_ms", "compile_ms", "speedup_eager",
        "speedup_eager_interval", "speedup_compile", "speedup_compile_interval", "worst_error"}) {
    out[name] = all.at(name);
  }
  return out;
}

/// Indents each line by two blanks.
std::string indented(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += "  " + line + '\n';
  return out;
}

/// The feedback without the class at its start: here that is on the line above.
std::string without_class(const Verdict& v) {
  const std::string front = class_words(v) + ": ";
  std::string text = v.feedback.starts_with(front) ? v.feedback.substr(front.size()) : v.feedback;
  // The feedback of numerics `paper` ends with the names of the wrong answers that would pass.
  const size_t names = v.weakness.empty() ? std::string::npos : text.find(v.weakness);
  if (names != std::string::npos) {
    text.replace(names, v.weakness.size(), sandbox::in_words(v.weakness));
  }
  return text;
}

/// The first wrong element; empty for any other class.
std::string wrong_line(const Verdict& v) {
  const std::string text = v.correct() ? "" : wrong_element_text(v.evidence);
  return text.empty() ? text : "  first wrong element: " + text + '\n';
}

/// The reward, trust class and contract; only the contract if nothing was measured.
std::string worth_line(const Verdict& v, Request request) {
  if (!is_rewarded(request)) return "  contract " + v.contract + '\n';
  const std::string note =
      times_one_core(v.contract) ? "  " + one_core_text(v.contract) + '\n' : "";
  return fmt::format("  reward {:.2f}, trust class {}, contract {}\n{}",
                     policy::reward_of(v, RewardRule::milestone), to_string(v.trust), v.contract,
                     note);
}

/// The feedback of numerics `paper` says it already.
std::string weakness_line(const Verdict& v) {
  if (v.weakness.empty() || v.trust == TrustClass::paper) return {};
  return "  this task cannot tell these wrong answers from right ones: " +
         sandbox::in_words(v.weakness) + '\n';
}

std::string verdict_text(const Verdict& v, Request request) {
  if (request == Request::explain && v.correct()) return v.feedback;
  std::string out = (v.correct() ? class_name(v, request) : class_words(v)) + '\n';
  if (runs(request) || !v.correct()) out += indented(without_class(v)) + wrong_line(v);
  if (request == Request::explain) return out;
  if (const ShapeResult* shape = worst_shape(v)) {
    out += speedup_line("eager", shape->speedup_eager, shape->speedup_eager_interval);
    out += speedup_line("torch.compile", shape->speedup_compile, shape->speedup_compile_interval);
    out += further_lines(shape->further);
  }
  out += clock_line(v);
  return out + worth_line(v, request) + weakness_line(v) + jail_line(v.jail);
}

}  // namespace

std::string judgement_json(const Judgement& judgement, Request request) {
  return text_of(judgement_object(judgement, request));
}

std::string judgement_text(const Judgement& judgement, Request request) {
  if (const auto* verdict = std::get_if<Verdict>(&judgement))
    return verdict_text(*verdict, request);
  const auto& failure = std::get<InfraFailure>(judgement);
  return failure_words(failure.kind) + ": " + failure.detail + '\n';
}

const Judgement& decisive(const std::vector<JudgedShape>& shapes) {
  const JudgedShape* out = &shapes.front();
  for (const JudgedShape& one : shapes) {
    if (!is_correct(one.judgement)) return one.judgement;
    if (lowest_speedup(one.judgement) < lowest_speedup(out->judgement)) out = &one;
  }
  return out->judgement;
}

std::string shapes_json(const std::vector<JudgedShape>& shapes, Request request) {
  json out = judgement_object(decisive(shapes), request);
  json& list = out["declared_shapes"] = json::array();
  for (const JudgedShape& one : shapes) list.push_back(shape_object(one, request));
  return text_of(out);
}

std::string shapes_text(const std::vector<JudgedShape>& shapes,
                        const std::vector<std::string>& left_out, Request request) {
  std::string out;
  const bool several = shapes.size() + left_out.size() > 1;
  std::map<std::string, std::string> jail;  // printed once, and again only if it is another one
  for (JudgedShape one : shapes) {
    if (auto* verdict = std::get_if<Verdict>(&one.judgement)) {
      if (verdict->jail == jail) verdict->jail.clear();
      if (!verdict->jail.empty()) jail = verdict->jail;
    }
    out += (several ? one.function + ": " : "") + judgement_text(one.judgement, request);
  }
  for (const std::string& one : left_out) {
    out += one + ": not judged, because a shape before it is not correct\n";
  }
  return out;
}

}  // namespace warpsmith::commands
