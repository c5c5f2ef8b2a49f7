// SPDX-License-Identifier: Apache-2.0
// Plans for tests of launchers, bound to small tensors as to those of a task.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/plan/bound_plan.hpp"
#include "sandbox/plan/plan_reader.hpp"

namespace warpsmith::sandbox::testing {

inline TensorSpec tensor(const std::string& name, TensorRole role, std::vector<int64_t> shape,
                         Dtype dtype = Dtype::f32) {
  return {.name = name, .role = role, .dtype = dtype, .shape = std::move(shape)};
}

/// The extents are named d0, d1, … by position.
inline TaskSignature signature_of(std::vector<TensorSpec> tensors, std::vector<int64_t> dims) {
  TaskSignature signature{.tensors = std::move(tensors)};
  for (size_t i = 0; i < dims.size(); ++i) signature.dim_names.push_back("d" + std::to_string(i));
  signature.dims = std::move(dims);
  return signature;
}

/// Throws unless the plan is valid.
inline BoundPlan bound_to(const TaskSignature& signature, const std::string& text,
                          const PlanLimits& limits = {}) {
  const auto plan = read_plan(text);
  if (!plan) throw std::runtime_error(plan.error().message);
  auto bound = bind_plan(*plan, signature, limits);
  if (!bound) throw std::runtime_error(bound.error().message);
  return std::move(*bound);
}

}  // namespace warpsmith::sandbox::testing
