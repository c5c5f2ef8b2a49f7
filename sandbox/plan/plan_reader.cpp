// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/plan_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "runtime/config/toml_library.hpp"
#include "sandbox/plan/plan.hpp"
#include "sandbox/plan/plan_table.hpp"

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

/// Reads one item of a launch's `args`. The forms are: "x", a buffer, or an expression if the text
/// is not a plain name; 5, a number; both numbers and expressions have the width of the kernel's
/// parameter. {i64 = "d0 * d1"} and {f32 = 0.5} give the type. {tensor_map = "x", shape = […],
/// strides = […], box = […], swizzle = "128"} is a descriptor.
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

constexpr ListLength one_to_three{1, 3};
constexpr ListLength up_to_three{0, 3};

LaunchStep read_launch(PlanTable& table, PlanErrors& errors) {
  LaunchStep step;
  step.kernel = table.name("launch");
  step.grid = table.expressions("grid", one_to_three);
  step.block = table.expressions("block", one_to_three);
  step.cluster = table.expressions("cluster", up_to_three);
  step.shared = table.expression("shared", 0);
  step.cooperative = table.flag("cooperative");
  table.each("args", {0, plan_args}, [&](const toml::node& node) {
    step.args.push_back(read_argument(node, table, errors));
  });
  return step;
}

void check_bias(const GemmStep& step, PlanPlace place, PlanErrors& errors) {
  const bool wants_bias = step.epilogue >= Epilogue::bias;
  if (wants_bias == step.bias.has_value()) return;
  errors.at(place, wants_bias ? "this epilogue wants a \"bias\""
                              : "\"bias\" wants an epilogue that adds it: \"bias\", "
                                "\"bias_relu\" or \"bias_gelu\"");
}

GemmStep read_gemm(PlanTable& table, PlanErrors& errors) {
  GemmStep step;
  step.out = table.name("gemm");
  step.a = table.name("a");
  step.b = table.name("b");
  step.bias = table.maybe_name("bias");
  step.m = table.expression("m");
  step.n = table.expression("n");
  step.k = table.expression("k");
  step.batch = table.maybe_expression("batch");
  step.stride_a = table.maybe_expression("stride_a");
  step.stride_b = table.maybe_expression("stride_b");
  step.stride_out = table.maybe_expression("stride_out");
  step.row_a = table.maybe_expression("row_a");
  step.row_b = table.maybe_expression("row_b");
  step.row_out = table.maybe_expression("row_out");
  step.trans_a = table.flag("trans_a");
  step.trans_b = table.flag("trans_b");
  step.compute = table.choice("compute", compute_names, ComputeType::f32);
  step.compute_place = table.place_at("compute");
  step.alpha = table.single("alpha", 1);
  step.beta = table.single("beta", 0);
  const size_t before = errors.size();
  step.epilogue = table.choice("epilogue", epilogue_names, Epilogue::none);
  if (errors.size() == before) check_bias(step, table.place(), errors);
  return step;
}

ConvStep read_conv(PlanTable& table) {
  ConvStep step;
  step.out = table.name("conv");
  step.x = table.name("x");
  step.w = table.name("w");
  step.stride = table.expressions("stride", up_to_three);
  step.padding = table.expressions("padding", up_to_three);
  step.dilation = table.expressions("dilation", up_to_three);
  step.groups = table.maybe_expression("groups");
  step.compute = table.choice("compute", compute_names, ComputeType::f32);
  step.compute_place = table.place_at("compute");
  return step;
}

MemsetStep read_memset(PlanTable& table) {
  MemsetStep step;
  step.out = table.name("memset");
  step.value = static_cast<uint8_t>(table.integer("value", {0, 255}, 0));
  return step;
}

CopyStep read_copy(PlanTable& table) {
  CopyStep step;
  step.out = table.name("copy");
  step.from = table.name("from");
  return step;
}

/// Reads one [[step]] of plan.toml. Empty if the table is not a step of a known kind; the errors
/// say why.
std::optional<Step> read_step(const toml::table& table, PlanErrors& errors) {
  static constexpr std::array<std::string_view, 5> kinds{"launch", "gemm", "conv", "memset",
                                                         "copy"};
  std::string_view kind;
  for (const std::string_view one : kinds) {
    if (!table.contains(one)) continue;
    if (!kind.empty()) {
      errors.at(place_of(table), "a step is either \"" + std::string(kind) + "\" or \"" +
                                     std::string(one) + "\", not both");
      return std::nullopt;
    }
    kind = one;
  }
  if (kind.empty()) {
    errors.at(place_of(table), "a step has one of launch, gemm, conv, memset, copy");
    return std::nullopt;
  }
  PlanTable reader(table, "a " + std::string(kind) + " step", errors);
  Step step{.what = {}, .place = reader.place()};
  if (kind == "launch") step.what = read_launch(reader, errors);
  if (kind == "gemm") step.what = read_gemm(reader, errors);
  if (kind == "conv") step.what = read_conv(reader);
  if (kind == "memset") step.what = read_memset(reader);
  if (kind == "copy") step.what = read_copy(reader);
  reader.finish();
  return step;
}

constexpr size_t scratch_extents = 8;

constexpr std::array<std::pair<std::string_view, Dtype>, 10> dtypes{{{"f32", Dtype::f32},
                                                                     {"f64", Dtype::f64},
                                                                     {"f16", Dtype::f16},
                                                                     {"bf16", Dtype::bf16},
                                                                     {"i64", Dtype::i64},
                                                                     {"i32", Dtype::i32},
                                                                     {"i16", Dtype::i16},
                                                                     {"i8", Dtype::i8},
                                                                     {"u8", Dtype::u8},
                                                                     {"bool", Dtype::boolean}}};

void read_scratch(const toml::table& root, Plan& plan, PlanErrors& errors) {
  const toml::node* node = root.get("scratch");
  if (node == nullptr) return;
  const toml::table* all = node->as_table();
  if (all == nullptr || all->size() > plan_scratch) {
    errors.at(place_of(*node),
              fmt::format("scratch: expected at most {} tables [scratch.NAME]", plan_scratch));
    return;
  }
  for (auto&& [key, inner] : *all) {
    const toml::table* table = inner.as_table();
    if (table == nullptr) {
      errors.at(place_of(inner), "scratch: expected a table [scratch." + std::string(key) + "]");
      continue;
    }
    PlanTable reader(*table, "a scratch buffer", errors);
    ScratchBuffer buffer{.name = reader.bounded(std::string(key), "scratch", reader.place()),
                         .place = reader.place()};
    buffer.dtype = reader.choice("dtype", dtypes, Dtype::f32);
    buffer.shape = reader.expressions("shape", {1, scratch_extents});
    reader.finish();
    plan.scratch.push_back(std::move(buffer));
  }
}

std::vector<Step> read_steps(PlanTable& table, PlanErrors& errors) {
  std::vector<Step> steps;
  table.each_table("step", {1, plan_steps}, [&](const toml::table& inner) {
    if (auto step = read_step(inner, errors)) steps.push_back(std::move(*step));
  });
  return steps;
}

void read_variants(PlanTable& root, Plan& plan, PlanErrors& errors) {
  root.each_table("variant", {1, plan_variants}, [&](const toml::table& inner) {
    PlanTable table(inner, "a variant", errors);
    Variant variant{.when = table.maybe_expression("when"), .place = table.place()};
    variant.steps = read_steps(table, errors);
    table.finish();
    plan.variants.push_back(std::move(variant));
  });
}

Plan read_root(const toml::table& root, PlanErrors& errors) {
  Plan plan;
  PlanTable table(root, "a plan", errors);
  table.allow("scratch");
  read_scratch(root, plan, errors);
  if (table.has("variant") && table.has("step")) {
    errors.at(place_of(*root.get("step")), "a plan has either [[step]] or [[variant]], not both");
  } else if (table.has("variant")) {
    read_variants(table, plan, errors);
  } else {
    plan.variants.push_back({.steps = read_steps(table, errors), .place = {1, 1}});
  }
  table.allow("variant");
  table.allow("step");
  table.finish();
  return plan;
}

}  // namespace

Result<Plan> read_plan(std::string_view text) {
  PlanErrors errors;
  if (text.size() > plan_bytes) {
    errors.at({1, 1}, fmt::format("longer than {} bytes", plan_bytes));
  } else if (const auto fault = toml_fault(text)) {
    errors.at({fault->line, 1}, fault->text);
  }
  if (!errors.empty()) return fail(ErrorCode::invalid_config, errors.text());
  Plan plan;
  try {
    plan = read_root(toml::parse(text), errors);
  } catch (const toml::parse_error& error) {
    const auto& place = error.source().begin;
    errors.at({place.line, place.column}, std::string(error.description()));
  } catch (const std::runtime_error& error) {  // of the parser: see toml_library.hpp
    errors.at({1, 1}, error.what());
  }
  if (!errors.empty()) return fail(ErrorCode::invalid_config, errors.text());
  return plan;
}

}  // namespace warpsmith::sandbox
