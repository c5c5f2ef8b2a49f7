// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/plan_scope.hpp"

#include <algorithm>

#include "runtime/config/nearest_name.hpp"
#include "sandbox/commit/shared_buffers.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int64_t most_scratch_extent = int64_t{1} << 40;
constexpr uint64_t most_scratch = 1ULL << 48U;  // bytes of one buffer

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
               what + ": expected " + std::to_string(range.least) + " to " +
                   std::to_string(range.most) + ", got " + std::to_string(*found),
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

}  // namespace warpsmith::sandbox
