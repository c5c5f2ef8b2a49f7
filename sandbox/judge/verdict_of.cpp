// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/verdict_of.hpp"

#include <algorithm>

#include "sandbox/judge/number_text.hpp"
#include "sandbox/judge/timed_decision.hpp"

namespace warpsmith::sandbox {
namespace {

std::string shape_text(const TaskSignature& signature) {
  std::string text;
  for (size_t i = 0; i < signature.dims.size(); ++i) {
    text += (i == 0 ? "" : " ") + signature.dim_names[i] + '=' + std::to_string(signature.dims[i]);
  }
  return text;
}

std::string place(size_t index, const VerifiedSet& set) {
  return "set " + std::to_string(index + 1) + " (" + std::string(to_string(set.distribution)) + ")";
}

std::string error_text(const ErrorStats& errors) {
  return "error " + brief(errors.worst) + " times the bound";
}

/// The failing class of one verified set, if any.
std::optional<Decision> failure_of(size_t index, const VerifiedSet& set) {
  const std::string where = place(index, set);
  if (set.fault) return failing({}, set.fault->outcome, where + ": " + set.fault->detail);
  if (set.inputs_changed)
    return failing({}, VerdictClass::input_mutated, where + ": an input changed");
  if (set.guards_changed) {
    return failing({}, VerdictClass::oob_write, where + ": wrote outside the outputs");
  }
  if (set.errors.nonfinite > 0) {
    return failing(
        {}, VerdictClass::nonfinite,
        where + ": " + std::to_string(set.errors.nonfinite) + " of " +
            std::to_string(set.errors.elements) +
            " elements are not finite or not written, or finite where the reference is infinite");
  }
  if (!set.errors.right()) {
    return failing({}, VerdictClass::wrong, where + ": " + error_text(set.errors));
  }
  return std::nullopt;
}

}  // namespace

StrictResult strict_result(const Measurements& measured) {
  if (measured.strict_sets.empty()) return {.why = "not judged"};
  for (size_t i = 0; i < measured.strict_sets.size(); ++i) {
    if (auto failure = failure_of(i, measured.strict_sets[i])) return {.why = failure->feedback};
  }
  return {.passed = true};
}

Decision decide(const Measurements& measured, const TaskFacts& facts, int wanted_sets,
                RandomStream& random) {
  Decision decision;
  decision.shape.shape = shape_text(facts.signature);
  if (measured.early) return failing(decision, measured.early->outcome, measured.early->detail);
  double worst = 0;
  for (size_t i = 0; i < measured.sets.size(); ++i) {
    const VerifiedSet& set = measured.sets[i];
    if (!set.fault) worst = std::max(worst, set.errors.worst);
    decision.shape.worst_error = worst;
    if (auto failure = failure_of(i, set)) {
      failure->shape = decision.shape;
      return *failure;
    }
  }
  if (static_cast<int>(measured.sets.size()) < wanted_sets) {
    return failing(decision, VerdictClass::wrong, "not every input set was verified");
  }
  decision.feedback = "passed: " + std::to_string(measured.sets.size()) + " of " +
                      std::to_string(wanted_sets) + " sets, worst error " + brief(worst) +
                      " of the bound";
  if (!measured.timings) return decision;
  return decide_timed(std::move(decision), *measured.timings, facts, random);
}

}  // namespace warpsmith::sandbox
