// SPDX-License-Identifier: Apache-2.0
#include "sandbox/plan/match_kernels.hpp"

#include <cmath>
#include <limits>
#include <set>

#include "runtime/config/nearest_name.hpp"
#include "sandbox/plan/plan_errors.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr uint32_t registers_of_a_block = 65536;
constexpr uint32_t tensor_map_bytes = 128;

std::string bytes_text(uint32_t bytes) {
  return bytes == 0 ? "4 or 8 bytes" : std::to_string(bytes) + " bytes";
}

bool fits(const BoundArgument& argument, uint32_t parameter) {
  const uint32_t bytes = argument_bytes(argument);
  return bytes == 0 ? parameter == 4 || parameter == 8 : parameter == bytes;
}

/// Empty, or the number that its parameter cannot hold.
std::string overflow_of(const BoundArgument& argument, uint32_t parameter) {
  const auto* scalar = std::get_if<BoundScalar>(&argument);
  if (scalar == nullptr || parameter != 4) return {};
  if (scalar->type == ScalarType::f32) {
    const bool fits = std::abs(scalar->real) <= std::numeric_limits<float>::max();
    return fits ? "" : "beyond a float's range";
  }
  return fits_in_4_bytes(scalar->whole) ? "" : std::to_string(scalar->whole);
}

/// What argument and parameter are where one does not fit the other; else empty.
std::string misfit(const BoundArgument& argument, uint32_t parameter) {
  const std::string there = ", the parameter " + std::to_string(parameter);
  if (!fits(argument, parameter)) return bytes_text(argument_bytes(argument)) + there;
  const std::string number = overflow_of(argument, parameter);
  return number.empty() ? number : number + there + " bytes";
}

void match_arguments(const BoundLaunch& launch, const KernelFacts& kernel, PlanErrors& errors) {
  const size_t wanted = kernel.parameters.size();
  if (launch.args.size() != wanted) {
    errors.at(launch.kernel_place, "\"" + launch.kernel + "\" takes " + std::to_string(wanted) +
                                       " arguments, got " + std::to_string(launch.args.size()));
    return;
  }
  for (size_t i = 0; i < wanted; ++i) {
    const std::string is = misfit(launch.args[i], kernel.parameters[i].bytes);
    if (is.empty()) continue;
    errors.at(launch.arg_places[i],
              "argument " + std::to_string(i + 1) + " of \"" + launch.kernel + "\" is " + is);
  }
}

void match_block(const BoundLaunch& launch, const KernelFacts& kernel, const PlanLimits& limits,
                 PlanErrors& errors) {
  const uint32_t threads = launch.block.x * launch.block.y * launch.block.z;
  const auto complain = [&](const std::string& what) {
    errors.at(launch.kernel_place, "\"" + launch.kernel + "\": " + what);
  };
  if (kernel.max_threads != 0 && threads > kernel.max_threads) {
    complain("a block of " + std::to_string(threads) + " threads, its __launch_bounds__ allow " +
             std::to_string(kernel.max_threads));
  }
  if (uint64_t{threads} * kernel.registers > registers_of_a_block) {
    complain(std::to_string(threads) + " threads of " + std::to_string(kernel.registers) +
             " registers do not fit one block's 65536");
  }
  if (uint64_t{launch.shared} + kernel.shared_bytes > limits.shared_bytes) {
    complain(std::to_string(launch.shared) + " bytes of dynamic and " +
             std::to_string(kernel.shared_bytes) + " of static shared memory, a block has " +
             std::to_string(limits.shared_bytes));
  }
}

const KernelFacts* kernel_of(const BoundLaunch& launch, const CubinFacts& cubin,
                             PlanErrors& errors) {
  const auto found = cubin.kernels.find(launch.kernel);
  if (found != cubin.kernels.end()) return &found->second;
  std::set<std::string> names;
  for (const auto& [name, facts] : cubin.kernels) names.insert(name);
  errors.at(launch.kernel_place, "no kernel \"" + launch.kernel + "\" in " + device_source_file +
                                     "; the nearest is \"" + nearest_name(launch.kernel, names) +
                                     "\" (declare it extern \"C\" __global__)");
  return nullptr;
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

Result<void> match_kernels(const BoundPlan& plan, const CubinFacts& cubin,
                           const PlanLimits& limits) {
  PlanErrors errors;
  for (const BoundStep& step : plan.steps) {
    const auto* launch = std::get_if<BoundLaunch>(&step.what);
    if (launch == nullptr) continue;
    const KernelFacts* kernel = kernel_of(*launch, cubin, errors);
    if (kernel == nullptr) continue;
    match_arguments(*launch, *kernel, errors);
    match_block(*launch, *kernel, limits, errors);
  }
  if (!errors.empty()) return fail(ErrorCode::invalid_config, errors.text());
  return {};
}

}  // namespace warpsmith::sandbox
