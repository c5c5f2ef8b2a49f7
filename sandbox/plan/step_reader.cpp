// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/step_reader.hpp"

#include "sandbox/plan/argument_reader.hpp"
#include "sandbox/plan/plan_names.hpp"
#include "sandbox/plan/plan_reader.hpp"

namespace warpsmith::sandbox {
namespace {

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

}  // namespace

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

}  // namespace warpsmith::sandbox
