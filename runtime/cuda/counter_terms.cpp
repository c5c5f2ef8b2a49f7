// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/counter_terms.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>

namespace warpsmith::cuda {
namespace {

using Counters = KernelCounters;
using Known = std::span<const std::string>;

/// A metric, under the names that different chips have for it.
struct Metric {
  std::array<const char*, 2> names;
  const char* roll_up;
  double Counters::* into;
  double weight;
};

// Instructions are counted per thread. A multiply-add counts twice: once with the other operations
// of its type, once by itself.
constexpr std::array metrics{
    Metric{{"dram__bytes_read", "dram__bytes_op_read"}, ".sum", &Counters::dram_read_bytes, 1},
    Metric{{"dram__bytes_write", "dram__bytes_op_write"}, ".sum", &Counters::dram_written_bytes, 1},
    Metric{
        {"sm__warps_active"}, ".avg.pct_of_peak_sustained_active", &Counters::warps_active, 0.01},
    Metric{{"smsp__sass_thread_inst_executed_ops_fadd_fmul_ffma_pred_on"},
           ".sum",
           &Counters::flops,
           1},
    Metric{{"smsp__sass_thread_inst_executed_op_ffma_pred_on"}, ".sum", &Counters::flops, 1},
    Metric{{"smsp__sass_thread_inst_executed_ops_dadd_dmul_dfma_pred_on"},
           ".sum",
           &Counters::flops,
           1},
    Metric{{"smsp__sass_thread_inst_executed_op_dfma_pred_on"}, ".sum", &Counters::flops, 1},
    Metric{{"smsp__sass_thread_inst_executed_ops_hadd_hmul_hfma_pred_on"},
           ".sum",
           &Counters::flops,
           2},
    Metric{{"smsp__sass_thread_inst_executed_op_hfma_pred_on"}, ".sum", &Counters::flops, 2}};

// Only on chips that have instructions on pairs of float32.
constexpr std::array pair_metrics{
    Metric{{"smsp__sass_thread_inst_executed_ops_fadd2_fmul2_ffma2_pred_on"},
           ".sum",
           &Counters::flops,
           2},
    Metric{{"smsp__sass_thread_inst_executed_op_ffma2_pred_on"}, ".sum", &Counters::flops, 2}};

bool has(Known known, std::string_view name) {
  return std::ranges::find(known, name) != known.end();
}

bool add(Known known, const Metric& metric, std::vector<CounterTerm>& terms) {
  for (const char* name : metric.names) {
    if (name == nullptr || !has(known, name)) continue;
    terms.push_back({std::string(name) + metric.roll_up, metric.into, metric.weight});
    return true;
  }
  return false;
}

/// True for the metrics of tensor cores, one per element type. Each counts products and sums.
bool counts_tensor_flops(std::string_view name) {
  const auto has_part = [name](std::string_view part) { return name.find(part) != name.npos; };
  return name.starts_with("sm__ops_path_tensor_src_") && !has_part("_int") &&
         !has_part("_sparsity") && !has_part("_realtime");
}

}  // namespace

Result<std::vector<CounterTerm>> counter_terms(Known known) {
  std::vector<CounterTerm> terms;
  for (const Metric& metric : metrics) {
    if (!add(known, metric, terms)) {
      return fail(ErrorCode::unsupported,
                  std::string("this GPU has no counter ") + metric.names.front());
    }
  }
  for (const Metric& metric : pair_metrics) (void)add(known, metric, terms);
  for (const std::string& name : known) {
    if (counts_tensor_flops(name)) terms.push_back({name + ".sum", &Counters::tensor_flops});
  }
  return terms;
}

KernelCounters counters_of(std::span<const CounterTerm> terms, std::span<const double> values) {
  assert(terms.size() == values.size() && "one value for each term");
  KernelCounters counters;
  for (size_t i = 0; i < terms.size(); ++i) {
    counters.*terms[i].into += terms[i].weight * values[i];
  }
  return counters;
}

}  // namespace warpsmith::cuda
