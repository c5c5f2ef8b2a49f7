// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/match_kernels.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>

#include "runtime/message_text.hpp"
#include "sandbox/plan/plan_errors.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr uint32_t registers_of_a_block = 65536;
constexpr uint32_t tensor_map_bytes = 128;

std::string bytes_text(uint32_t bytes) {
  return bytes == 0 ? "4 or 8 bytes" : fmt::format("{} bytes", bytes);
}

bool fits(const BoundArgument& argument, uint32_t parameter) {
  const uint32_t bytes = argument_bytes(argument);
  return bytes == 0 ? parameter == 4 || parameter == 8 : parameter == bytes;
}

/// The value that does not fit the parameter; empty if it fits.
std::string overflow_of(const BoundArgument& argument, uint32_t parameter) {
  const auto* scalar = std::get_if<BoundScalar>(&argument);
  if (scalar == nullptr || parameter != 4) return {};
  if (scalar->type == ScalarType::f32) {
    const bool fits = std::abs(scalar->real) <= std::numeric_limits<float>::max();
    return fits ? "" : "beyond a float's range";
  }
  return fits_in_4_bytes(scalar->whole) ? "" : std::to_string(scalar->whole);
}

/// A bound launch with the step that it was made from.
struct LaunchText {
  const BoundLaunch& launch;
  const LaunchStep& text;
};

/// Whether an error in this number depends on the extents.
Holds holds_of(const Argument& argument) {
  if (std::holds_alternative<BufferName>(argument)) return Holds::at_these_extents;  // of an extent
  const auto* scalar = std::get_if<ScalarArgument>(&argument);
  return scalar == nullptr ? Holds::always : holds_for({scalar->whole});
}

void match_argument(const LaunchText& step, size_t i, uint32_t parameter, PlanErrors& errors) {
  const BoundArgument& argument = step.launch.args[i];
  const std::string there = fmt::format(", the parameter {}", parameter);
  const auto complain = [&](const std::string& is, Holds holds) {
    errors.at(step.launch.arg_places[i],
              fmt::format("argument {} of \"{}\" is {}", i + 1, step.launch.kernel, is), holds);
  };
  if (!fits(argument, parameter)) {
    return complain(bytes_text(argument_bytes(argument)) + there, Holds::always);
  }
  const std::string number = overflow_of(argument, parameter);
  if (!number.empty()) complain(number + there + " bytes", holds_of(step.text.args[i]));
}

bool match_count(const LaunchStep& step, const KernelFacts& kernel, PlanErrors& errors) {
  const size_t wanted = kernel.parameters.size();
  if (step.args.size() == wanted) return true;
  errors.at(step.kernel.place, fmt::format("\"{}\" takes {} arguments, got {}", step.kernel.name,
                                           wanted, step.args.size()));
  return false;
}

/// Requires as many parameters as the step has arguments, all of which were bound.
void match_arguments(const LaunchText& step, const KernelFacts& kernel, PlanErrors& errors) {
  for (size_t i = 0; i < step.launch.args.size(); ++i) {
    match_argument(step, i, kernel.parameters[i].bytes, errors);
  }
}

void match_block(const LaunchText& step, const KernelFacts& kernel, const PlanLimits& limits,
                 PlanErrors& errors) {
  const BoundLaunch& launch = step.launch;
  const uint32_t threads = launch.block.x * launch.block.y * launch.block.z;
  const auto complain = [&](const std::string& what, const std::vector<PlacedExpression>& resting) {
    errors.at(launch.kernel_place, "\"" + launch.kernel + "\": " + what, holds_for(resting));
  };
  if (kernel.max_threads != 0 && threads > kernel.max_threads) {
    complain(fmt::format("a block of {} threads, its __launch_bounds__ allow {}", threads,
                         kernel.max_threads),
             step.text.block);
  }
  if (uint64_t{threads} * kernel.registers > registers_of_a_block) {
    complain(fmt::format("{} threads of {} registers do not fit one block's 65536", threads,
                         kernel.registers),
             step.text.block);
  }
  if (uint64_t{launch.shared} + kernel.shared_bytes > limits.shared_bytes) {
    complain(fmt::format("{} bytes of dynamic and {} of static shared memory, a block has {}",
                         launch.shared, kernel.shared_bytes, limits.shared_bytes),
             {step.text.shared});
  }
}

const KernelFacts* kernel_of(const BufferName& kernel, const CubinFacts& cubin,
                             PlanErrors& errors) {
  const auto found = cubin.kernels.find(kernel.name);
  if (found != cubin.kernels.end()) return &found->second;
  if (errors.size() >= plan_errors_shown) {  // the nearest name would not be shown
    errors.at(kernel.place, "no kernel \"" + kernel.name + "\"");
    return nullptr;
  }
  std::set<std::string> names;
  for (const auto& [name, facts] : cubin.kernels) names.insert(name);
  errors.at(kernel.place, "no kernel \"" + kernel.name + "\" in " + device_source_file +
                              "; the nearest is \"" + nearest_name(kernel.name, names) +
                              "\" (declare it extern \"C\" __global__)");
  return nullptr;
}

void match_steps(const Variant& variant, const std::vector<BoundStep>& steps,
                 const CubinFacts& cubin, const PlanLimits& limits, PlanErrors& errors) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto* launch = std::get_if<BoundLaunch>(&steps[i].what);
    if (launch == nullptr) continue;
    const LaunchText step{*launch, std::get<LaunchStep>(variant.steps[i].what)};
    const KernelFacts* kernel = kernel_of(step.text.kernel, cubin, errors);
    if (kernel == nullptr) continue;
    if (match_count(step.text, *kernel, errors)) match_arguments(step, *kernel, errors);
    match_block(step, *kernel, limits, errors);
  }
}

}  // namespace

uint32_t argument_bytes(const BoundArgument& argument) {
  if (std::holds_alternative<BoundPointer>(argument)) return 8;
  if (std::holds_alternative<BoundTensorMap>(argument)) return tensor_map_bytes;
  switch (std::get<BoundScalar>(argument).type) {
    case ScalarType::i32:
    case ScalarType::f32:
      return 4;
    case ScalarType::i64:
    case ScalarType::f64:
      return 8;
    default:
      return 0;
  }
}

bool fits_in_4_bytes(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() &&
         value <= int64_t{std::numeric_limits<uint32_t>::max()};
}

PlanErrors match_texts(const Plan& plan, const CubinFacts& cubin) {
  PlanErrors errors;
  for (const Variant& variant : plan.variants) {
    for (const Step& step : variant.steps) {
      const auto* launch = std::get_if<LaunchStep>(&step.what);
      const KernelFacts* kernel = launch ? kernel_of(launch->kernel, cubin, errors) : nullptr;
      if (kernel != nullptr) (void)match_count(*launch, *kernel, errors);
    }
  }
  return errors;
}

Result<void> match_kernels(const Plan& plan, BoundVariants& bound, const CubinFacts& cubin,
                           const PlanLimits& limits) {
  PlanErrors errors;
  match_steps(plan.variants[bound.chosen.variant], bound.chosen.steps, cubin, limits, errors);
  for (OtherVariant& other : bound.others) {
    match_steps(plan.variants[other.index], other.steps, cubin, limits, other.misfits);
    errors.take_permanent(other.misfits);
  }
  if (!errors.empty()) return fail(ErrorCode::invalid_config, errors.text());
  return {};
}

}  // namespace warpsmith::sandbox
