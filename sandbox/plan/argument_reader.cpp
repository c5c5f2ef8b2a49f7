// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/argument_reader.hpp"

#include <algorithm>
#include <cctype>

#include "sandbox/plan/plan_names.hpp"
#include "sandbox/plan/plan_reader.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr size_t map_extents = 5;  // the most dimensions of a tensor map

/// True for the name of a tensor, a scratch buffer or an extent. Names of tensors in nested modules
/// contain dots and list indices ("blocks.0.weight"); expressions contain no dots.
bool is_name(std::string_view text) {
  const auto digit = [](unsigned char letter) { return std::isdigit(letter) != 0; };
  const auto part = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '_' || letter == '.';
  };
  const auto starts = [](unsigned char letter) {
    return std::isalpha(letter) != 0 || letter == '_';
  };
  if (text.empty() || text.size() > plan_name_bytes || !std::ranges::all_of(text, part)) {
    return false;
  }
  if (text.find('.') == std::string_view::npos) return !digit(static_cast<unsigned char>(text[0]));
  return std::ranges::any_of(text, starts);
}

TensorMapArgument read_map(PlanTable& table) {
  TensorMapArgument map;
  map.buffer = table.name("tensor_map");
  map.shape = table.expressions("shape", {1, map_extents});
  map.strides = table.expressions("strides", {0, map_extents - 1});
  map.box = table.expressions("box", {1, map_extents});
  map.swizzle = table.choice("swizzle", swizzle_names, Swizzle::none);
  return map;
}

ScalarArgument read_scalar(PlanTable& table, PlanErrors& errors) {
  ScalarArgument scalar{.place = table.place()};
  for (const char* key : {"i32", "i64", "f32", "f64"}) table.allow(key);
  if (table.has("i32") + table.has("i64") + table.has("f32") + table.has("f64") != 1) {
    errors.at(table.place(), "expected one of i32, i64, f32, f64, tensor_map");
    return scalar;
  }
  scalar.type = table.has("i32")   ? ScalarType::i32
                : table.has("i64") ? ScalarType::i64
                : table.has("f32") ? ScalarType::f32
                                   : ScalarType::f64;
  if (table.has("i32")) scalar.whole = table.expression("i32");
  if (table.has("i64")) scalar.whole = table.expression("i64");
  if (table.has("f32")) scalar.real = table.real("f32", 0);
  if (table.has("f64")) scalar.real = table.real("f64", 0);
  return scalar;
}

}  // namespace

Argument read_argument(const toml::node& node, PlanTable& within, PlanErrors& errors) {
  if (const toml::table* inner = node.as_table()) {
    const bool map = inner->contains("tensor_map");
    PlanTable table(*inner, map ? "a tensor map" : "an argument", errors);
    const Argument argument =
        map ? Argument{read_map(table)} : Argument{read_scalar(table, errors)};
    table.finish();
    return argument;
  }
  const auto text = node.value_exact<std::string_view>();
  if (text && is_name(*text)) return BufferName{std::string(*text), place_of(node)};
  return ScalarArgument{ScalarType::fitting, within.expression_of(node), 0, place_of(node)};
}

}  // namespace warpsmith::sandbox
