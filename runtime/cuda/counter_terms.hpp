// SPDX-License-Identifier: Apache-2.0
// The metrics of CUPTI's range profiler that make up KernelCounters, by their names. Pure.
//
// Source: CUPTI documentation, "Metrics Mapping Table" and its naming of metrics. What the metrics
// of instructions count was measured on an H200 with kernels of known work.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/kernel_record.hpp"
#include "runtime/result.hpp"

namespace warpsmith::cuda {

struct CounterTerm {
  std::string metric;                       // with its roll-up, e.g. ".sum"
  double KernelCounters::* into = nullptr;  // the figure that its value is added to
  double weight = 1;
};

/// The terms for a chip with the base metrics `known`. `unsupported` names the one it lacks.
Result<std::vector<CounterTerm>> counter_terms(std::span<const std::string> known);

/// Adds up the terms; `values` has one value per term, in order.
KernelCounters counters_of(std::span<const CounterTerm> terms, std::span<const double> values);

}  // namespace warpsmith::cuda
