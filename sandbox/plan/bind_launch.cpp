// SPDX-License-Identifier: Apache-2.0
// Binds kernel launches of a plan: extents, arguments, tensor maps.
#include <fmt/format.h>

#include <limits>

#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/plan/bind_step.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int64_t most_grid_x = (int64_t{1} << 31) - 1, most_grid_yz = 65535;
constexpr int64_t most_threads = 1024, most_threads_z = 64;
constexpr int64_t most_map_stride = (int64_t{1} << 40) - 16;
constexpr int64_t most_box = 256, map_unit = 16;  // elements of a box; alignment in bytes

using Ranges = std::array<ValueRange, 3>;
constexpr Ranges grid_ranges{{{1, most_grid_x}, {1, most_grid_yz}, {1, most_grid_yz}}};
constexpr Ranges block_ranges{{{1, most_threads}, {1, most_threads}, {1, most_threads_z}}};

Extent3 extent_of(const std::vector<PlacedExpression>& list, const Ranges& ranges,
                  const std::string& what, PlanScope& scope) {
  std::array<uint32_t, 3> values{1, 1, 1};
  for (size_t i = 0; i < list.size(); ++i) {
    values[i] = static_cast<uint32_t>(scope.value(list[i], ranges[i], what));
  }
  return {values[0], values[1], values[2]};
}

std::string text_of(const Extent3& extent) {
  return fmt::format("{} x {} x {}", extent.x, extent.y, extent.z);
}

std::optional<Extent3> cluster_of(const LaunchStep& step, const BoundLaunch& launch,
                                  const BindContext& to) {
  if (step.cluster.empty()) return std::nullopt;
  const int64_t most = to.limits.cluster_blocks;
  const Extent3 cluster =
      extent_of(step.cluster, {{{1, most}, {1, most}, {1, most}}}, "cluster", to.scope);
  if (cluster.volume() > to.limits.cluster_blocks) {
    to.scope.errors().at(
        step.cluster.front().place,
        fmt::format("cluster: expected at most {} blocks, got {}", most, cluster.volume()),
        holds_for(step.cluster));
  }
  if (launch.grid.x % cluster.x != 0 || launch.grid.y % cluster.y != 0 ||
      launch.grid.z % cluster.z != 0) {
    const bool fixed = holds_for(step.grid) == Holds::always;
    to.scope.errors().at(step.cluster.front().place,
                         "the grid, " + text_of(launch.grid) + ", is no multiple of the cluster, " +
                             text_of(cluster),
                         fixed ? holds_for(step.cluster) : Holds::at_these_extents);
  }
  return cluster;
}

/// What is wrong with a row of the box; empty if it is valid.
std::string wrong_row(int64_t bytes, Swizzle swizzle) {
  if (bytes % map_unit != 0) return "a row of the box is a multiple of 16 bytes";
  const int64_t widest = swizzle == Swizzle::b32 ? 32 : swizzle == Swizzle::b64 ? 64 : 128;
  if (swizzle == Swizzle::none || bytes <= widest) return {};
  return "a row of the box is at most as wide as the swizzle";
}

std::vector<uint32_t> box_of(const TensorMapArgument& map, int64_t unit, PlanScope& scope) {
  const size_t before = scope.errors().size();
  std::vector<uint32_t> box;
  box.reserve(map.box.size());
  for (const PlacedExpression& extent : map.box) {
    box.push_back(static_cast<uint32_t>(scope.value(extent, {1, most_box}, "box")));
  }
  if (scope.errors().size() != before) return box;
  if (const std::string wrong = wrong_row(box[0] * unit, map.swizzle); !wrong.empty()) {
    scope.errors().at(map.buffer.place, "tensor map: " + wrong, holds_for({map.box[0]}));
  }
  return box;
}

int64_t map_stride(const PlacedExpression& expression, PlanScope& scope) {
  const int64_t stride = scope.value(expression, {map_unit, most_map_stride}, "stride");
  if (stride % map_unit != 0) {
    scope.errors().at(
        expression.place,
        fmt::format("tensor map: expected a stride of whole 16 bytes, got {}", stride),
        holds_for({expression}));
  }
  return stride;
}

/// Fills in shape and strides. Returns the end of the last byte that they reach; empty if that
/// is beyond any memory.
std::optional<uint64_t> reach_of(const TensorMapArgument& map, int64_t unit, BoundTensorMap& bound,
                                 PlanScope& scope) {
  auto reach = static_cast<uint64_t>(unit);
  bool fits = true;
  for (size_t i = 0; i < map.shape.size(); ++i) {
    const int64_t extent =
        scope.value(map.shape[i], {1, std::numeric_limits<uint32_t>::max()}, "shape");
    bound.shape.push_back(static_cast<uint64_t>(extent));
    const int64_t stride = i == 0 ? unit : map_stride(map.strides[i - 1], scope);
    if (i > 0) bound.strides.push_back(static_cast<uint64_t>(stride));
    uint64_t span = 0;
    fits = fits &&
           !__builtin_mul_overflow(static_cast<uint64_t>(extent - 1), static_cast<uint64_t>(stride),
                                   &span) &&
           !__builtin_add_overflow(reach, span, &reach);
  }
  return fits ? std::optional(reach) : std::nullopt;
}

/// Empty only if the buffer is unknown.
std::optional<BoundArgument> bind_map(const TensorMapArgument& map, PlanScope& scope) {
  const auto index = scope.buffer(map.buffer, Access::any);
  if (!index) return std::nullopt;
  BoundTensorMap bound{.buffer = *index, .swizzle = map.swizzle};
  const PlanPlace place = map.buffer.place;
  if (map.box.size() != map.shape.size() || map.strides.size() + 1 != map.shape.size()) {
    scope.errors().at(
        place,
        fmt::format(
            "tensor map: a shape of {} extents wants as many in box and one fewer in strides",
            map.shape.size()));
    return bound;
  }
  const BoundBuffer& buffer = scope.at(*index);
  const auto unit = static_cast<int64_t>(element_bytes(buffer.dtype));
  bound.box = box_of(map, unit, scope);
  const size_t before = scope.errors().size();
  const auto reach = reach_of(map, unit, bound, scope);
  if (scope.errors().size() != before || !scope.has_size(*index)) return bound;
  if (!reach) {
    scope.errors().at_extents(place, "tensor map: it is larger than any memory");
  } else if (*reach > buffer.bytes) {
    scope.errors().at_extents(
        place, fmt::format("tensor map: it ends at byte {} of \"{}\", which has {}", *reach,
                           buffer.name, buffer.bytes));
  }
  return bound;
}

std::optional<BoundArgument> bind_argument(const Argument& argument, PlanScope& scope) {
  if (const auto* map = std::get_if<TensorMapArgument>(&argument)) return bind_map(*map, scope);
  if (const auto* name = std::get_if<BufferName>(&argument)) {
    if (scope.is_symbol(name->name)) {
      const PlacedExpression symbol = scope.symbol(*name);
      return BoundScalar{.whole = scope.value(symbol, any_value, "argument")};
    }
    const auto index = scope.buffer(*name, Access::any);
    if (!index) return std::nullopt;
    return BoundPointer{*index};
  }
  const auto& scalar = std::get<ScalarArgument>(argument);
  BoundScalar bound{scalar.type, 0, scalar.real};
  const bool narrow = scalar.type == ScalarType::i32;
  constexpr ValueRange i32{std::numeric_limits<int32_t>::min(),
                           std::numeric_limits<int32_t>::max()};
  if (scalar.type != ScalarType::f32 && scalar.type != ScalarType::f64) {
    bound.whole = scope.value(scalar.whole, narrow ? i32 : any_value, "argument");
  }
  return bound;
}

PlanPlace place_of_argument(const Argument& argument) {
  if (const auto* name = std::get_if<BufferName>(&argument)) return name->place;
  if (const auto* map = std::get_if<TensorMapArgument>(&argument)) return map->buffer.place;
  return std::get<ScalarArgument>(argument).place;
}

}  // namespace

BoundLaunch bind_launch(const LaunchStep& step, const BindContext& to) {
  BoundLaunch launch{.kernel = step.kernel.name,
                     .kernel_place = step.kernel.place,
                     .cooperative = step.cooperative};
  launch.grid = extent_of(step.grid, grid_ranges, "grid", to.scope);
  launch.block = extent_of(step.block, block_ranges, "block", to.scope);
  if (launch.block.volume() > most_threads) {
    to.scope.errors().at(
        step.block.front().place,
        fmt::format("block: expected at most 1024 threads, got {}", launch.block.volume()),
        holds_for(step.block));
  }
  launch.cluster = cluster_of(step, launch, to);
  launch.shared =
      static_cast<uint32_t>(to.scope.value(step.shared, {0, to.limits.shared_bytes}, "shared"));
  for (const Argument& argument : step.args) {
    auto bound = bind_argument(argument, to.scope);
    if (!bound) continue;
    launch.args.push_back(std::move(*bound));
    launch.arg_places.push_back(place_of_argument(argument));
  }
  return launch;
}

}  // namespace warpsmith::sandbox
