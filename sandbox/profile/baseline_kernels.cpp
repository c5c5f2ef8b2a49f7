// SPDX-License-Identifier: Apache-2.0
#include "sandbox/profile/baseline_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace warpsmith::sandbox {
namespace {

using Json = nlohmann::json;

constexpr double most_us = 1e12;

double span_of(const Json& entry, const char* name) {
  const double us = entry.at(name).get<double>();
  if (!std::isfinite(us) || us < 0 || us > most_us) {
    throw std::runtime_error(std::string(name) + " is not a time");
  }
  return us;
}

/// Checks before converting: the conversion of a fraction or a negative number is unspecified.
uint64_t whole_of(const Json& value, uint64_t most) {
  if (!value.is_number_integer()) throw std::runtime_error("a count is not a whole number");
  const bool negative = !value.is_number_unsigned() && value.get<int64_t>() < 0;
  if (negative || value.get<uint64_t>() > most) {
    throw std::runtime_error("a count is out of range");
  }
  return value.get<uint64_t>();
}

uint32_t count_of(const Json& value, uint32_t most) {
  return static_cast<uint32_t>(whole_of(value, most));
}

/// Empty for a copy or a fill.
std::array<uint32_t, 3> extents_of(const Json& list, uint32_t most) {
  std::array<uint32_t, 3> extents{};
  if (list.empty()) return extents;
  if (list.size() != 3) throw std::runtime_error("a grid or a block does not have three extents");
  std::ranges::transform(list, extents.begin(),
                         [most](const Json& extent) { return count_of(extent, most); });
  return extents;
}

cuda::RecordKind kind_of(const std::string& name) {
  using cuda::RecordKind;
  for (const RecordKind kind : {RecordKind::kernel, RecordKind::copy, RecordKind::fill}) {
    if (name == kind_name(kind)) return kind;
  }
  throw std::runtime_error("unknown kind \"" + clean_name(name) + '"');
}

/// Empty if the entry has no counters.
std::optional<cuda::KernelCounters> counters_of(const Json& entry) {
  const auto found = entry.find("counters");
  if (found == entry.end() || found->is_null()) return std::nullopt;
  const auto value = [&](const char* name) { return found->at(name).get<double>(); };
  const cuda::KernelCounters counters{.dram_read_bytes = value("dram_read_bytes"),
                                      .dram_written_bytes = value("dram_written_bytes"),
                                      .flops = value("flops"),
                                      .tensor_flops = value("tensor_flops"),
                                      .warps_active = value("warps_active")};
  if (!is_possible(counters)) throw std::runtime_error("counters that no device has");
  return counters;
}

ProfiledKernel kernel_of(const Json& entry) {
  ProfiledKernel kernel{.kind = kind_of(entry.at("kind").get<std::string>()),
                        .start_us = span_of(entry, "start_us"),
                        .time_us = span_of(entry, "device_us")};
  if (kernel.kind != cuda::RecordKind::kernel) {
    kernel.name = kind_name(kernel.kind);
    kernel.bytes = whole_of(entry.at("bytes"), UINT64_MAX);
    return kernel;
  }
  kernel.name = clean_name(entry.at("name").get<std::string>());
  kernel.grid = extents_of(entry.at("grid"), UINT32_MAX);
  kernel.block = extents_of(entry.at("block"), most_block_threads);
  kernel.registers = count_of(entry.at("registers"), most_registers);
  kernel.shared_bytes = count_of(entry.at("shared_bytes"), most_shared_bytes);
  kernel.counters = counters_of(entry);
  return kernel;
}

/// {"kernels": [...], "reason": why there are none, "uncounted": why they have no counters}
CallKernels call_of(const Json& reported) {
  const Json& list = reported.at("kernels");
  if (!list.is_array() || list.size() > most_profiled_kernels) {
    throw std::runtime_error(
        fmt::format("expected a list of at most {} kernels", most_profiled_kernels));
  }
  CallKernels call{.reason = reported.at("reason"), .uncounted = reported.at("uncounted")};
  std::ranges::transform(list, std::back_inserter(call.kernels), kernel_of);
  if (!call.kernels.empty()) {
    call.reason.clear();
  } else if (call.reason.empty()) {
    call.reason = "it launches nothing";
  }
  call.reason = call.reason.empty() ? "" : clean_name(call.reason);
  call.uncounted = call.uncounted.empty() ? "" : clean_name(call.uncounted);
  return call;
}

}  // namespace

Result<CallKernels> parse_reported_kernels(const std::string& json) {
  try {
    CallKernels call = call_of(Json::parse(json));
    if (!call.kernels.empty()) return call;
    return fail(ErrorCode::unsupported, call.reason);
  } catch (const std::exception& e) {
    return fail(ErrorCode::parse_failed, clean_name(std::string("reported kernels: ") + e.what()));
  }
}

Result<BaselineKernels> parse_baseline_kernels(const std::string& json) {
  try {
    const Json answer = Json::parse(json);
    return BaselineKernels{call_of(answer.at("eager")), call_of(answer.at("compiled"))};
  } catch (const std::exception& e) {
    return fail(ErrorCode::parse_failed, std::string("the worker's kernels: ") + e.what());
  }
}

}  // namespace warpsmith::sandbox
