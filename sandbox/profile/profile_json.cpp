// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "runtime/json_text.hpp"
#include "sandbox/profile/own_kernels.hpp"
#include "sandbox/profile/profile.hpp"

namespace warpsmith::sandbox {
namespace {

using Json = nlohmann::json;

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

Json party_json(const PartyKernels& party, const DeviceLimits& limits) {
  Json kernels = Json::array();
  for (const ProfiledKernel& kernel : party.kernels) kernels.push_back(kernel_json(kernel, limits));
  return {{"kernels", kernels},
          {"total_us", party.kernels.empty() ? Json() : Json(total_us(party))},
          {"reason", text_or_null(party.reason)},
          {"uncounted", text_or_null(party.uncounted)}};
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
  Json json = party_json(profile.candidate, profile.limits);
  json["told_by"] = profile.self_recorded ? "candidate" : "launcher";
  json["own_share"] = nullable(own_share(profile));
  return json;
}

Json json_of(const Profile& profile) {
  return {{"candidate", candidate_json(profile)},
          {"eager", party_json(profile.eager, profile.limits)},
          {"compile", party_json(profile.compiled, profile.limits)},
          {"call", call_json(profile)},
          {"device", device_json(profile)}};
}

/// Replaces invalid UTF-8: reasons may quote a candidate.
std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

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

}  // namespace warpsmith::sandbox
