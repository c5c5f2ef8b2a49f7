// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <tuple>

#include "sandbox/profile/own_kernels.hpp"
#include "sandbox/profile/profile.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr size_t most_name_columns = 44, reason_bytes = 120;
constexpr size_t candidate_lines = 5, baseline_lines = 3;

template <class... Args>
std::string print(const char* format, Args... args) {
  char text[256];
  (void)std::snprintf(text, sizeof text, format, args...);
  return text;
}

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
std::vector<Group> groups_of(const PartyKernels& party) {
  std::vector<Group> groups;
  for (const ProfiledKernel& kernel : party.kernels) {
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
  if (extents[1] > 1 || extents[2] > 1) text += "x" + std::to_string(extents[1]);
  return extents[2] > 1 ? text + "x" + std::to_string(extents[2]) : text;
}

std::string occupancy_text(const ProfiledKernel& kernel, const DeviceLimits& limits) {
  const auto occupancy = occupancy_of(kernel, limits);
  if (!occupancy) return {};
  std::string text = print(", occupancy %.0f %%", 100 * occupancy->share);
  if (occupancy->share < 0.995) text += " by " + std::string(to_string(occupancy->limit));
  if (kernel.counters) text += print(" (%.0f %% achieved)", 100 * kernel.counters->warps_active);
  return text + print(", %.2g waves", occupancy->waves);
}

/// " (43 %)" of this machine's limit; empty where the limit is unknown.
std::string share_text(double rate, double limit) {
  return limit > 0 ? print(" (%.0f %%)", 100 * rate / limit) : std::string();
}

/// Rates over the recorded time, with their shares of this machine's limits.
std::string counters_text(const ProfiledKernel& kernel, const MachineLimits& machine) {
  const auto rates = rates_of(kernel);
  if (!rates) return {};
  std::string text =
      print("; DRAM %.3g MB, %.4g GB/s", rates->dram_bytes / 1e6, rates->gbytes_per_s);
  text += share_text(rates->gbytes_per_s, machine.memory_gbytes_per_s);
  text += print("; %.3g TFLOP/s", rates->gflops_per_s / 1e3);
  text += share_text(rates->gflops_per_s, machine.gflops_per_s);
  if (rates->tensor_gflops_per_s > 0) {
    text += print(" and %.3g on tensor cores", rates->tensor_gflops_per_s / 1e3);
  }
  return text;
}

std::string group_line(const Group& group, const Profile& profile) {
  const ProfiledKernel& kernel = *group.first;
  std::string line = print("  %.2f us  ", group.time_us);
  if (group.count > 1) line += std::to_string(group.count) + " x ";
  line += cut(kernel.name, most_name_columns);
  if (kernel.bytes) return line + print(" %.3g MB\n", static_cast<double>(*kernel.bytes) / 1e6);
  line += " grid " + extents_text(kernel.grid) + " block " + extents_text(kernel.block);
  line += print(": %u registers, %u B shared", kernel.registers, kernel.shared_bytes);
  if (kernel.local_bytes.value_or(0) > 0) line += print(", %u B local", *kernel.local_bytes);
  return line + occupancy_text(kernel, profile.limits) + counters_text(kernel, profile.machine) +
         '\n';
}

std::string party_text(const char* name, const PartyKernels& party, const Profile& profile,
                       size_t most) {
  if (party.kernels.empty())
    return std::string(name) + ": " + cut(party.reason, reason_bytes) + '\n';
  const std::vector<Group> groups = groups_of(party);
  std::string text =
      print("%s: %zu launches, %.2f us\n", name, party.kernels.size(), total_us(party));
  for (const Group& group : groups) {
    if (most-- == 0) break;
    text += group_line(group, profile);
  }
  if (!party.uncounted.empty())
    text += "  no counters: " + cut(party.uncounted, reason_bytes) + '\n';
  return text;
}

/// The whole call's rate, which needs no counters.
std::string call_text(const Profile& profile) {
  if (!profile.timed.candidate_ms || profile.call_bytes <= 0) return {};
  const double ms = *profile.timed.candidate_ms;
  const double gbytes_per_s = profile.call_bytes / ms / 1e6;
  std::string text = print("whole call: at least %.4g MB in %.4f ms is %.4g GB/s",
                           profile.call_bytes / 1e6, ms, gbytes_per_s);
  if (profile.machine.memory_gbytes_per_s > 0) {
    text += print(", %.0f %% of this GPU's measured %.0f",
                  100 * gbytes_per_s / profile.machine.memory_gbytes_per_s,
                  profile.machine.memory_gbytes_per_s);
  }
  return text + " (bytes of inputs, parameters and outputs)\n";
}

}  // namespace

std::string profile_text(const Profile& profile) {
  std::string text = "kernels of one call with cold caches, device time, longest first:\n";
  const char* candidate = profile.self_recorded ? "candidate, by its own word" : "candidate";
  text += party_text(candidate, profile.candidate, profile, candidate_lines);
  text += party_text("eager", profile.eager, profile, baseline_lines);
  text += party_text("torch.compile", profile.compiled, profile, baseline_lines);
  if (const auto share = own_share(profile); share) {
    text += print("%.0f %% of the candidate's device time in its own kernels, by their names\n",
                  100 * *share);
  }
  text += call_text(profile);
  return cut(text, profile_text_bytes);
}

}  // namespace warpsmith::sandbox
