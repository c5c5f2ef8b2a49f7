// SPDX-License-Identifier: Apache-2.0
#include "sandbox/profile/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>

#include "runtime/json_text.hpp"
#include "runtime/text.hpp"

namespace warpsmith::sandbox {
namespace {

using Json = nlohmann::json;

// Name parts as in torch 2.11 with CUDA 13.
constexpr std::array<std::string_view, 19> library_parts{
    "at::native",  "at::cuda",     "at_cuda_detail", "cublas",      "cudnn",
    "cutlass",     "nvjet",        "xmma_",          "sgemm",       "gemv2",
    "gemvNSP",     "splitKreduce", "convolve_",      "triton_poi_", "triton_red_",
    "triton_per_", "triton_tem_",  "pytorch_flash",  "fmha_"};

constexpr std::array<std::string_view, 4> moving_parts{"FillFunctor", "direct_copy_kernel",
                                                       "CatArrayBatchedCopy", "16_copy_kernel"};

bool has_any(std::string_view name, std::span<const std::string_view> parts) {
  return std::ranges::any_of(
      parts, [name](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

constexpr size_t most_name_columns = 44, reason_bytes = 120;
constexpr size_t candidate_lines = 5, baseline_lines = 3;

/// Equal kernels of one call.
struct Group {
  const ProfiledKernel* first = nullptr;
  size_t count = 0;
  double time_us = 0;  // sum over the group
};

auto identity(const ProfiledKernel& one) {
  return std::tie(one.kind, one.name, one.grid, one.block, one.registers, one.shared_bytes);
}

/// Longest first.
std::vector<Group> groups_of(const CallKernels& call) {
  std::vector<Group> groups;
  for (const ProfiledKernel& kernel : call.kernels) {
    auto found = std::ranges::find_if(
        groups, [&](const Group& group) { return identity(*group.first) == identity(kernel); });
    if (found == groups.end()) found = groups.insert(found, {&kernel, 0, 0});
    ++found->count;
    found->time_us += kernel.time_us;
  }
  std::ranges::stable_sort(groups, std::ranges::greater{}, &Group::time_us);
  return groups;
}

std::string cut(const std::string& text, size_t bytes) {
  return text.size() <= bytes ? text : text.substr(0, bytes - 3) + "...";
}

/// Omits trailing extents of 1.
std::string extents_text(const std::array<uint32_t, 3>& extents) {
  std::string text = std::to_string(extents[0]);
  if (extents[1] > 1 || extents[2] > 1) text += fmt::format("x{}", extents[1]);
  return extents[2] > 1 ? fmt::format("{}x{}", text, extents[2]) : text;
}

std::string occupancy_text(const ProfiledKernel& kernel, const DeviceLimits& limits) {
  const auto occupancy = occupancy_of(kernel, limits);
  if (!occupancy) return {};
  std::string text = ", occupancy " + percent_text(occupancy->share);
  if (occupancy->share < 0.995) text += " by " + std::string(to_string(occupancy->limit));
  if (kernel.counters)
    text += fmt::format(" ({} achieved)", percent_text(kernel.counters->warps_active));
  return text + fmt::format(", {:.2g} waves", occupancy->waves);
}

/// " (43 %)" of this machine's limit; empty if the limit is unknown.
std::string share_text(double rate, double limit) {
  return limit > 0 ? fmt::format(" ({})", percent_text(rate / limit)) : "";
}

/// Rates over the recorded time, with their shares of this machine's limits.
std::string counters_text(const ProfiledKernel& kernel, const MachineLimits& machine) {
  const auto rates = rates_of(kernel);
  if (!rates) return {};
  std::string text =
      fmt::format("; DRAM {:.3g} MB, {:.4g} GB/s", rates->dram_bytes / 1e6, rates->gbytes_per_s);
  text += share_text(rates->gbytes_per_s, machine.memory_gbytes_per_s);
  text += fmt::format("; {:.3g} TFLOP/s", rates->gflops_per_s / 1e3);
  text += share_text(rates->gflops_per_s, machine.gflops_per_s);
  if (rates->tensor_gflops_per_s > 0) {
    text += fmt::format(" and {:.3g} on tensor cores", rates->tensor_gflops_per_s / 1e3);
  }
  return text;
}

std::string group_line(const Group& group, const Profile& profile) {
  const ProfiledKernel& kernel = *group.first;
  std::string line = fmt::format("  {:.2f} us  ", group.time_us);
  if (group.count > 1) line += fmt::format("{} x ", group.count);
  line += cut(kernel.name, most_name_columns);
  if (kernel.bytes) {
    return line + fmt::format(" {:.3g} MB\n", static_cast<double>(*kernel.bytes) / 1e6);
  }
  line += " grid " + extents_text(kernel.grid) + " block " + extents_text(kernel.block);
  line += fmt::format(": {} registers, {} B shared", kernel.registers, kernel.shared_bytes);
  if (kernel.local_bytes.value_or(0) > 0) line += fmt::format(", {} B local", *kernel.local_bytes);
  return line + occupancy_text(kernel, profile.limits) + counters_text(kernel, profile.machine) +
         '\n';
}

std::string kernels_text(const char* name, const CallKernels& call, const Profile& profile,
                         size_t most) {
  if (call.kernels.empty()) return std::string(name) + ": " + cut(call.reason, reason_bytes) + '\n';
  const std::vector<Group> groups = groups_of(call);
  std::string text =
      fmt::format("{}: {} launches, {:.2f} us\n", name, call.kernels.size(), total_us(call));
  for (const Group& group : groups) {
    if (most-- == 0) break;
    text += group_line(group, profile);
  }
  if (!call.uncounted.empty()) text += "  no counters: " + cut(call.uncounted, reason_bytes) + '\n';
  return text;
}

/// The whole call's rate, which needs no counters.
std::string call_text(const Profile& profile) {
  if (!profile.timed.candidate_ms || profile.call_bytes <= 0) return {};
  const double ms = *profile.timed.candidate_ms;
  const double gbytes_per_s = profile.call_bytes / ms / 1e6;
  std::string text = fmt::format("whole call: at least {:.4g} MB in {:.4f} ms is {:.4g} GB/s",
                                 profile.call_bytes / 1e6, ms, gbytes_per_s);
  if (profile.machine.memory_gbytes_per_s > 0) {
    text += fmt::format(", {} of this GPU's measured {:.0f}",
                        percent_text(gbytes_per_s / profile.machine.memory_gbytes_per_s),
                        profile.machine.memory_gbytes_per_s);
  }
  return text + " (bytes of inputs, parameters and outputs)\n";
}

constexpr const char* profile_key = "profile";

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json occupancy_json(const ProfiledKernel& kernel, const DeviceLimits& limits) {
  const auto occupancy = occupancy_of(kernel, limits);
  if (!occupancy) return {};
  return {{"share", occupancy->share},
          {"blocks_per_multiprocessor", occupancy->blocks},
          {"limited_by", to_string(occupancy->limit)},
          {"waves", occupancy->waves}};
}

/// The counts of one call, and the rates that follow from the recorded time.
Json counters_json(const ProfiledKernel& kernel) {
  if (!kernel.counters) return {};
  Json json{{"dram_read_bytes", kernel.counters->dram_read_bytes},
            {"dram_written_bytes", kernel.counters->dram_written_bytes},
            {"flops", kernel.counters->flops},
            {"tensor_flops", kernel.counters->tensor_flops},
            {"warps_active", kernel.counters->warps_active}};
  const auto rates = rates_of(kernel);
  json["dram_gbytes_per_s"] = rates ? Json(rates->gbytes_per_s) : Json();
  json["gflops_per_s"] = rates ? Json(rates->gflops_per_s) : Json();
  json["tensor_gflops_per_s"] = rates ? Json(rates->tensor_gflops_per_s) : Json();
  return json;
}

Json kernel_json(const ProfiledKernel& kernel, const DeviceLimits& limits) {
  Json json{{"kind", kind_name(kernel.kind)},
            {"name", kernel.name},
            {"start_us", kernel.start_us},
            {"time_us", kernel.time_us},
            {"bytes", nullable(kernel.bytes)}};
  const bool launched = kernel.kind == cuda::RecordKind::kernel;
  json["grid"] = launched ? Json(kernel.grid) : Json();
  json["block"] = launched ? Json(kernel.block) : Json();
  json["registers"] = launched ? Json(kernel.registers) : Json();
  json["shared_bytes"] = launched ? Json(kernel.shared_bytes) : Json();
  json["static_shared_bytes"] = nullable(kernel.static_shared_bytes);
  json["local_bytes"] = nullable(kernel.local_bytes);
  json["occupancy"] = occupancy_json(kernel, limits);
  json["counters"] = counters_json(kernel);
  return json;
}

Json kernels_json(const CallKernels& call, const DeviceLimits& limits) {
  Json kernels = Json::array();
  for (const ProfiledKernel& kernel : call.kernels) kernels.push_back(kernel_json(kernel, limits));
  return {{"kernels", kernels},
          {"total_us", call.kernels.empty() ? Json() : Json(total_us(call))},
          {"reason", text_or_null(call.reason)},
          {"uncounted", text_or_null(call.uncounted)}};
}

/// Combines the task's signature with the times taken without a profiler.
Json call_json(const Profile& profile) {
  const ShapeResult& timed = profile.timed;
  const auto rate = [&](double amount) {
    return timed.candidate_ms && amount > 0 ? Json(amount / *timed.candidate_ms / 1e6) : Json();
  };
  return {{"candidate_ms", nullable(timed.candidate_ms)},
          {"eager_ms", nullable(timed.eager_ms)},
          {"compile_ms", nullable(timed.compile_ms)},
          {"least_bytes", profile.call_bytes},
          {"reference_flops", profile.call_flops > 0 ? Json(profile.call_flops) : Json()},
          {"gbytes_per_s", rate(profile.call_bytes)},
          {"gflops_per_s", rate(profile.call_flops)},
          {"source", "signature and reference"}};
}

Json device_json(const Profile& profile) {
  return {{"multiprocessors", profile.limits.multiprocessors},
          {"threads_per_multiprocessor", profile.limits.threads},
          {"blocks_per_multiprocessor", profile.limits.blocks},
          {"registers_per_multiprocessor", profile.limits.registers},
          {"shared_bytes_per_multiprocessor", profile.limits.shared_bytes},
          {"reserved_shared_bytes_per_block", profile.limits.reserved_shared_bytes},
          {"memory_gbytes_per_s", profile.machine.memory_gbytes_per_s},
          {"cache_gbytes_per_s", profile.machine.cache_gbytes_per_s},
          {"gflops_per_s", profile.machine.gflops_per_s}};
}

Json candidate_json(const Profile& profile) {
  Json json = kernels_json(profile.candidate, profile.limits);
  json["told_by"] = profile.self_recorded ? "candidate" : "launcher";
  json["own_share"] = nullable(own_share(profile));
  return json;
}

Json json_of(const Profile& profile) {
  return {{"candidate", candidate_json(profile)},
          {"eager", kernels_json(profile.eager, profile.limits)},
          {"compile", kernels_json(profile.compiled, profile.limits)},
          {"call", call_json(profile)},
          {"device", device_json(profile)}};
}

/// Replaces invalid UTF-8: reasons may quote a candidate.
std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Chrome's "Trace Event Format"; times are microseconds.
constexpr int stream = 1;  // one thread per process

Json named(const char* what, int process, const char* name) {
  return {
      {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", stream}, {"args", {{"name", name}}}};
}

/// The event's arguments are all the other facts of the kernel.
Json event_of(const Json& kernel, int process) {
  Json args = kernel;
  for (const char* shown : {"name", "kind", "start_us", "time_us"}) args.erase(shown);
  return {{"ph", "X"},
          {"name", kernel.at("name").get<std::string>()},
          {"cat", kernel.at("kind").get<std::string>()},
          {"pid", process},
          {"tid", stream},
          {"ts", kernel.at("start_us").get<double>()},
          {"dur", kernel.at("time_us").get<double>()},
          {"args", std::move(args)}};
}

Json events_of(const Json& profile) {
  Json events = Json::array();
  int process = 0;
  for (const char* side : {"candidate", "eager", "compile"}) {
    ++process;
    events.push_back(named("process_name", process, side));
    events.push_back(named("thread_name", process, "one call"));
    for (const Json& kernel : profile.at(side).at("kernels")) {
      events.push_back(event_of(kernel, process));
    }
  }
  return events;
}

}  // namespace

bool is_library_kernel(std::string_view name) {
  return has_any(name, library_parts);
}

bool is_moving_kernel(std::string_view name) {
  return is_library_kernel(name) && has_any(name, moving_parts);
}

std::optional<double> own_share(const Profile& profile) {
  const double all = total_us(profile.candidate);
  if (!profile.self_recorded || !(all > 0)) return std::nullopt;
  double own = 0;
  for (const ProfiledKernel& kernel : profile.candidate.kernels) {
    const bool launched = kernel.kind == cuda::RecordKind::kernel;
    if (launched && !is_library_kernel(kernel.name)) own += kernel.time_us;
  }
  return own / all;
}

std::string profile_text(const Profile& profile) {
  std::string text = "kernels of one call with cold caches, device time, longest first:\n";
  const char* candidate = profile.self_recorded ? "candidate, by its own word" : "candidate";
  text += kernels_text(candidate, profile.candidate, profile, candidate_lines);
  text += kernels_text("eager", profile.eager, profile, baseline_lines);
  text += kernels_text("torch.compile", profile.compiled, profile, baseline_lines);
  if (const auto share = own_share(profile); share) {
    text += percent_text(share) +
            " of the candidate's device time in its own kernels, by their names\n";
  }
  text += call_text(profile);
  return cut(text, profile_text_bytes);
}

std::string profile_json(const Profile& profile) {
  return dumped(json_of(profile));
}

std::string with_profile(const std::string& evidence, const Profile& profile) {
  Json json = Json::parse(evidence, nullptr, false);
  if (!json.is_object()) return evidence;
  json[profile_key] = json_of(profile);
  return dumped(json);
}

std::optional<std::string> profile_of_evidence(const std::string& evidence) {
  const Json json = Json::parse(evidence, nullptr, false);
  if (!json.is_object() || !json.contains(profile_key)) return std::nullopt;
  return dumped(json[profile_key]);
}

Result<std::string> profile_trace(const std::string& profile_json) {
  try {
    const Json profile = Json::parse(profile_json);
    const Json trace{
        {"traceEvents", events_of(profile)},
        {"displayTimeUnit", "ns"},
        {"otherData", {{"call", profile.at("call")}, {"device", profile.at("device")}}}};
    return trace.dump(-1, ' ', false, Json::error_handler_t::replace);
  } catch (const Json::exception& e) {
    return fail(ErrorCode::parse_failed, std::string("profile: ") + e.what());
  }
}

}  // namespace warpsmith::sandbox
