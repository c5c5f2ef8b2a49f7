// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "runtime/message_text.hpp"
#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/plan/bind_step.hpp"
#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int64_t most_scratch_extent = int64_t{1} << 40;
constexpr uint64_t most_scratch = 1ULL << 48U;  // bytes of one buffer

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

/// The first variant whose condition holds. Returns the number of variants if no condition holds or
/// one cannot be evaluated.
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
            fmt::format("scratch: expected at most {} bytes in all, got {}", limits.scratch_bytes,
                        scope.scratch_bytes()));
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

PlanScope::PlanScope(const TaskSignature& signature, PlanErrors& errors) : errors_(errors) {
  for (size_t i = 0; i < signature.dims.size(); ++i) {
    symbols_[signature.dim_names[i]] = signature.dims[i];
  }
  for (const TensorSpec& tensor : signature.tensors) {
    buffers_.push_back(
        {tensor.name, tensor.dtype, tensor.shape, tensor_bytes(tensor), tensor.role, false});
  }
}

void PlanScope::add_scratch(const ScratchBuffer& scratch) {
  const auto same = [&](const BoundBuffer& one) { return one.name == scratch.name; };
  if (std::ranges::any_of(buffers_, same) || is_symbol(scratch.name)) {
    errors_.at(scratch.place,
               "scratch \"" + scratch.name + "\" has the name of a tensor or an extent");
  }
  const size_t before = errors_.size();
  BoundBuffer buffer{.name = scratch.name, .dtype = scratch.dtype, .scratch = true};
  buffer.bytes = element_bytes(scratch.dtype);
  for (const PlacedExpression& extent : scratch.shape) {
    buffer.shape.push_back(value(extent, {0, most_scratch_extent}, "an extent of scratch"));
    const auto factor = static_cast<uint64_t>(buffer.shape.back());
    if (__builtin_mul_overflow(buffer.bytes, factor, &buffer.bytes) ||
        buffer.bytes > most_scratch) {
      errors_.at(scratch.place, "scratch \"" + scratch.name + "\" is larger than any memory");
      buffer.bytes = 0;
      break;
    }
  }
  if (errors_.size() != before) unsized_.insert(static_cast<uint32_t>(buffers_.size()));
  scratch_bytes_ += rounded_scratch(buffer.bytes);
  buffers_.push_back(std::move(buffer));
}

PlacedExpression PlanScope::symbol(const BufferName& name) {
  const auto parsed = Expression::parse(name.name);
  return {parsed.value_or(Expression{}), {name.place.line, name.place.column + 1}};
}

int64_t PlanScope::value(const PlacedExpression& expression, ValueRange range,
                         const std::string& what) {
  const auto found = expression.expression.evaluate(symbols_);
  if (found && *found >= range.least && *found <= range.most) return *found;
  const auto fixed = expression.expression.fixed_value(symbols_);
  if (!fixed) {
    errors_.in(expression, fixed.error());
  } else if (!found) {
    errors_.in(expression, found.error(), Holds::at_these_extents);
  } else {
    errors_.at(expression.place,
               fmt::format("{}: expected {} to {}, got {}", what, range.least, range.most, *found),
               *fixed ? Holds::always : Holds::at_these_extents);
  }
  return range.least;
}

std::optional<uint32_t> PlanScope::buffer(const BufferName& name, Access access) {
  const auto found = std::ranges::find(buffers_, name.name, &BoundBuffer::name);
  if (found == buffers_.end()) {
    std::set<std::string> known;
    for (const BoundBuffer& one : buffers_) known.insert(one.name);
    errors_.at(name.place, "no tensor or scratch \"" + name.name + "\"; the nearest is \"" +
                               nearest_name(name.name, known) + "\"");
    has_wrong_write_ = has_wrong_write_ || access != Access::read;
    return std::nullopt;
  }
  const auto index = static_cast<uint32_t>(found - buffers_.begin());
  if (access == Access::write && !found->writable()) {
    errors_.at(name.place, "\"" + name.name + "\" is an input and cannot be written");
    has_wrong_write_ = true;
    return std::nullopt;
  }
  const bool unwritten = access == Access::read && found->writable() && !written_.contains(index);
  if (unwritten && !has_wrong_write_) {
    errors_.at(name.place, "\"" + name.name + "\" is read before any step has written it");
    return std::nullopt;
  }
  if (access != Access::read && found->writable()) written_.insert(index);
  return index;
}

Result<BoundVariants> bind_variants(const Plan& plan, const TaskSignature& signature,
                                    const PlanLimits& limits, const PlanErrors& other_errors) {
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
    errors.add(other_errors);
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
