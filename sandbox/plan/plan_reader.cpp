// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/plan_reader.hpp"

#include "runtime/config/toml_scan.hpp"
#include "sandbox/plan/step_reader.hpp"

namespace warpsmith::sandbox {
namespace {

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
    errors.at(place_of(*node), "scratch: expected at most " + std::to_string(plan_scratch) +
                                   " tables [scratch.NAME]");
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
    errors.at({1, 1}, "longer than " + std::to_string(plan_bytes) + " bytes");
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
