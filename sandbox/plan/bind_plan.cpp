// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/bind_step.hpp"
#include "sandbox/plan/bound_variants.hpp"

namespace warpsmith::sandbox {
namespace {

BoundStep bind_step(const Step& step, const BindContext& to) {
  BoundStep bound{.what = {}, .place = step.place};
  if (const auto* launch = std::get_if<LaunchStep>(&step.what)) {
    bound.what = bind_launch(*launch, to);
  } else if (const auto* gemm = std::get_if<GemmStep>(&step.what)) {
    bound.what = bind_gemm(*gemm, to);
  } else if (const auto* conv = std::get_if<ConvStep>(&step.what)) {
    bound.what = bind_conv(*conv, to);
  } else if (const auto* memset = std::get_if<MemsetStep>(&step.what)) {
    bound.what = bind_memset(*memset, to);
  } else {
    bound.what = bind_copy(std::get<CopyStep>(step.what), step.place, to);
  }
  return bound;
}

/// The first variant whose condition holds. Returns the number of variants where none holds or a
/// condition cannot be evaluated.
size_t chosen_variant(const Plan& plan, PlanScope& scope) {
  const size_t before = scope.errors().size();
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    const Variant& variant = plan.variants[i];
    const bool holds = !variant.when || scope.value(*variant.when, any_value, "when") != 0;
    if (scope.errors().size() != before) return plan.variants.size();
    if (holds) return i;
  }
  scope.errors().at(plan.variants.back().place,
                    "no variant is for these extents; give the last "
                    "one no \"when\"");
  return plan.variants.size();
}

void check_scratch(const Plan& plan, const PlanScope& scope, const PlanLimits& limits,
                   PlanErrors& errors) {
  if (scope.scratch_bytes() <= limits.scratch_bytes) return;
  errors.at(plan.scratch.front().place,
            "scratch: expected at most " + std::to_string(limits.scratch_bytes) +
                " bytes in all, got " + std::to_string(scope.scratch_bytes()));
}

void check_outputs(const Variant& variant, PlanScope& scope) {
  if (scope.has_wrong_write()) return;
  for (const BoundBuffer& buffer : scope.buffers()) {
    if (buffer.scratch || buffer.role != TensorRole::output) continue;
    if (!scope.written(buffer)) {
      scope.errors().at(variant.place, "no step writes the output \"" + buffer.name + "\"");
    }
  }
}

std::vector<BoundStep> bind_steps(const Variant& variant, PlanScope& scope,
                                  const PlanLimits& limits) {
  std::vector<BoundStep> steps;
  steps.reserve(variant.steps.size());
  for (const Step& step : variant.steps) steps.push_back(bind_step(step, {scope, limits}));
  check_outputs(variant, scope);
  return steps;
}

/// Errors that no extents could fix are added to the plan's errors.
OtherVariant bind_other(const Plan& plan, size_t index, PlanScope& scope,
                        const PlanLimits& limits) {
  OtherVariant other{.index = index, .steps = {}, .misfits = {}};
  const Variant& variant = plan.variants[index];
  PlanScope own = scope.of_variant(other.misfits);
  if (variant.when) (void)own.value(*variant.when, any_value, "when");
  other.steps = bind_steps(variant, own, limits);
  scope.errors().take_permanent(other.misfits);
  return other;
}

}  // namespace

Result<BoundVariants> bind_variants(const Plan& plan, const TaskSignature& signature,
                                    const PlanLimits& limits, const PlanErrors& beside) {
  PlanErrors errors;
  PlanScope scope(signature, errors);
  for (const ScratchBuffer& scratch : plan.scratch) scope.add_scratch(scratch);
  check_scratch(plan, scope, limits, errors);
  BoundVariants bound;
  bound.chosen.variant = chosen_variant(plan, scope);
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    if (i == bound.chosen.variant) {
      PlanScope own = scope.of_variant(errors);
      bound.chosen.steps = bind_steps(plan.variants[i], own, limits);
    } else {
      bound.others.push_back(bind_other(plan, i, scope, limits));
    }
  }
  if (!errors.empty()) {
    errors.add(beside);
    return fail(ErrorCode::invalid_config, errors.text());
  }
  bound.chosen.buffers = std::move(scope.buffers());
  bound.chosen.scratch_bytes = scope.scratch_bytes();
  return bound;
}

Result<BoundPlan> bind_plan(const Plan& plan, const TaskSignature& signature,
                            const PlanLimits& limits) {
  return bind_variants(plan, signature, limits).map([](BoundVariants&& bound) {
    return std::move(bound.chosen);
  });
}

}  // namespace warpsmith::sandbox
