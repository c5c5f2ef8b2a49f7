// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/bind_step.hpp"

namespace warpsmith::sandbox {
namespace {

BoundStep bind_step(const Step& step, const BindContext& to) {
  BoundStep bound{.what = {}, .place = step.place};
  if (const auto* launch = std::get_if<LaunchStep>(&step.what)) {
    bound.what = bind_launch(*launch, step.place, to);
  } else if (const auto* gemm = std::get_if<GemmStep>(&step.what)) {
    bound.what = bind_gemm(*gemm, step.place, to);
  } else if (const auto* conv = std::get_if<ConvStep>(&step.what)) {
    bound.what = bind_conv(*conv, step.place, to);
  } else if (const auto* memset = std::get_if<MemsetStep>(&step.what)) {
    bound.what = bind_memset(*memset, to);
  } else {
    bound.what = bind_copy(std::get<CopyStep>(step.what), step.place, to);
  }
  return bound;
}

/// The first whose condition holds; the number of variants if none does.
size_t chosen_variant(const Plan& plan, PlanScope& scope) {
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    const Variant& variant = plan.variants[i];
    if (!variant.when || scope.value(*variant.when, any_value, "when") != 0) return i;
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

void check_outputs(const Plan& plan, PlanScope& scope, PlanErrors& errors) {
  for (const BoundBuffer& buffer : scope.buffers()) {
    if (buffer.scratch || buffer.role != TensorRole::output) continue;
    if (!scope.written(buffer)) {
      errors.at(plan.variants.front().place, "no step writes the output \"" + buffer.name + "\"");
    }
  }
}

}  // namespace

Result<BoundPlan> bind_plan(const Plan& plan, const TaskSignature& signature,
                            const PlanLimits& limits) {
  PlanErrors errors;
  PlanScope scope(signature, errors);
  for (const ScratchBuffer& scratch : plan.scratch) scope.add_scratch(scratch);
  check_scratch(plan, scope, limits, errors);
  BoundPlan bound{.variant = chosen_variant(plan, scope)};
  if (bound.variant < plan.variants.size()) {
    for (const Step& step : plan.variants[bound.variant].steps) {
      bound.steps.push_back(bind_step(step, {scope, limits}));
    }
    check_outputs(plan, scope, errors);
  }
  if (!errors.empty()) return fail(ErrorCode::invalid_config, errors.text());
  bound.buffers = std::move(scope.buffers());
  bound.scratch_bytes = scope.scratch_bytes();
  return bound;
}

}  // namespace warpsmith::sandbox
