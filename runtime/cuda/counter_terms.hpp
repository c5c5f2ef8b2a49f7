// SPDX-License-Identifier: Apache-2.0
// Which metrics of CUPTI's range profiler make up KernelCounters, by their names. Pure.
//
// Source: CUPTI documentation, "Metrics Mapping Table" and the naming of metrics there; what the
// metrics of instructions count was measured on an H200 with kernels of known work.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/kernel_counters.hpp"
#include "runtime/result.hpp"

namespace warpsmith::cuda {

struct CounterTerm {
  std::string metric;                       // with its roll-up
  double KernelCounters::* into = nullptr;  // what its value adds to
  double weight = 1;
};

/// On a chip that has the base metrics `known`. `unsupported` names what it lacks.
Result<std::vector<CounterTerm>> counter_terms(std::span<const std::string> known);

/// `values`: one for each term, in order.
KernelCounters counters_of(std::span<const CounterTerm> terms, std::span<const double> values);

}  // namespace warpsmith::cuda
