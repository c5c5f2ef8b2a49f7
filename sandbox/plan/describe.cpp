// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/describe.hpp"

#include <sstream>

#include "sandbox/plan/plan_names.hpp"
#include "sandbox/reference/description.hpp"

namespace warpsmith::sandbox {
namespace {

std::string written(const PlacedExpression& expression) {
  return expression.expression.text();
}

std::string written(const std::vector<PlacedExpression>& list) {
  std::string text;
  for (const PlacedExpression& one : list) text += (text.empty() ? "" : ", ") + written(one);
  return "(" + text + ")";
}

std::string written(const Argument& argument) {
  if (const auto* buffer = std::get_if<BufferName>(&argument)) return buffer->name;
  if (const auto* map = std::get_if<TensorMapArgument>(&argument)) {
    return "a tensor map of " + map->buffer.name;
  }
  const auto& scalar = std::get<ScalarArgument>(argument);
  const bool real = scalar.type == ScalarType::f32 || scalar.type == ScalarType::f64;
  if (!real) return written(scalar.whole);
  std::ostringstream text;
  text << scalar.real;
  return text.str();
}

/// The sentence of a step.
struct StepWords {
  std::string operator()(const LaunchStep& step) const {
    std::string text = "launches kernel " + step.kernel.name + " with a grid of " +
                       written(step.grid) + " blocks of " + written(step.block) + " threads";
    if (!step.cluster.empty()) text += ", in clusters of " + written(step.cluster);
    if (written(step.shared) != "0")
      text += ", " + written(step.shared) + " bytes of shared memory";
    if (step.cooperative) text += ", cooperatively";
    std::string arguments;
    for (const Argument& one : step.args)
      arguments += (arguments.empty() ? "" : ", ") + written(one);
    return text + (arguments.empty() ? ", without arguments" : "; arguments: " + arguments);
  }
  std::string operator()(const GemmStep& step) const {
    const auto side = [](const BufferName& buffer, bool transposed) {
      return buffer.name + (transposed ? " transposed" : "");
    };
    std::string text = "multiplies matrices: " + step.out.name + " = " +
                       side(step.a, step.trans_a) + " * " + side(step.b, step.trans_b) +
                       " with m = " + written(step.m) + ", n = " + written(step.n) +
                       ", k = " + written(step.k);
    if (step.batch) text += ", " + written(*step.batch) + " times";
    if (step.epilogue != Epilogue::none) {
      text += ", then " + std::string(name_of(step.epilogue, epilogue_names));
    }
    return text + ", in " + std::string(name_of(step.compute, compute_names));
  }
  std::string operator()(const ConvStep& step) const {
    return "convolves: " + step.out.name + " = " + step.x.name + " * " + step.w.name + ", in " +
           std::string(name_of(step.compute, compute_names));
  }
  std::string operator()(const MemsetStep& step) const {
    return "sets every byte of " + step.out.name + " to " + std::to_string(step.value);
  }
  std::string operator()(const CopyStep& step) const {
    return "copies " + step.from.name + " to " + step.out.name;
  }
};

std::string variant_line(const Plan& plan, size_t index) {
  if (plan.variants.size() == 1) return {};
  const Variant& variant = plan.variants[index];
  const std::string when = variant.when ? "if " + written(*variant.when) : "in all other cases";
  return "variant " + std::to_string(index + 1) + " of " + std::to_string(plan.variants.size()) +
         ", line " + std::to_string(variant.place.line) + ", " + when + ":\n";
}

}  // namespace

std::string describe(const Plan& plan) {
  std::ostringstream text;
  for (const ScratchBuffer& buffer : plan.scratch) {
    text << "scratch buffer " << buffer.name << ", line " << buffer.place.line << ": "
         << to_string(buffer.dtype) << ' ' << written(buffer.shape) << '\n';
  }
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    text << variant_line(plan, i);
    const auto& steps = plan.variants[i].steps;
    for (size_t k = 0; k < steps.size(); ++k) {
      text << "step " << k + 1 << ", line " << steps[k].place.line << ": "
           << std::visit(StepWords{}, steps[k].what) << '\n';
    }
  }
  return text.str();
}

}  // namespace warpsmith::sandbox
