// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/device/device_candidate.hpp"

#include <algorithm>

#include "sandbox/plan/explain.hpp"
#include "sandbox/plan/match_kernels.hpp"
#include "sandbox/plan/plan_reader.hpp"

namespace warpsmith::sandbox {
namespace {

tl::unexpected<Compiled> refused(std::string text) {
  return tl::unexpected(failed_compiling(VerdictClass::compile_error, std::move(text)));
}

/// Reads the cubin again, because the cache may have returned it without inspection.
OrFailed<CubinFacts> facts_of(const std::string& cubin) {
  if (cubin.empty()) return CubinFacts{};
  auto facts = read_cubin(cubin);
  if (facts) return std::move(*facts);
  return tl::unexpected(
      failed_compiling(VerdictClass::banned_construct, std::move(facts.error().message)));
}

}  // namespace

OrFailed<Plan> device_plan(const FileSet& files) {
  const auto text = files.find(plan_file);
  if (text == files.end()) {
    return refused(
        "solution/plan.toml is missing: contract device takes plan.toml, and kernels.cu "
        "with the kernels that it launches");
  }
  auto plan = read_plan(text->second);
  if (!plan) return refused(std::move(plan.error().message));
  return std::move(*plan);
}

bool launches_kernels(const Plan& plan) {
  const auto launches = [](const Step& step) {
    return std::holds_alternative<LaunchStep>(step.what);
  };
  return std::ranges::any_of(plan.variants, [&](const Variant& variant) {
    return std::ranges::any_of(variant.steps, launches);
  });
}

OrFailed<DeviceCandidate> device_candidate(const Plan& plan, Compiled compiled,
                                           const TaskSignature& signature, PrecisionLane lane) {
  const PlanLimits limits{.lane = lane};
  TRY(auto facts, facts_of(compiled.artefact));
  auto bound = bind_variants(plan, signature, limits, match_texts(plan, facts));
  if (!bound) return refused(std::move(bound.error().message));
  if (auto matched = match_kernels(plan, *bound, facts, limits); !matched) {
    return refused(std::move(matched.error().message));
  }
  std::string explanation =
      explain(signature) + explain(plan, *bound, facts) + explain_kernels(*bound, facts);
  return DeviceCandidate{.plan = std::move(bound->chosen),
                         .cubin = std::move(compiled.artefact),
                         .facts = std::move(facts),
                         .explanation = std::move(explanation)};
}

}  // namespace warpsmith::sandbox
