// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/machine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/bytes.hpp"
#include "runtime/clock.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/owned_folder.hpp"
#include "sandbox/commit/shared_buffers.hpp"

namespace warpsmith::sandbox {
namespace {

// As wide as AVX-512. This file is compiled for the build machine even where the program is not.
using Lanes = float __attribute__((vector_size(64), aligned(64)));
constexpr int accumulators = 8;
struct Line {
  Lanes lanes = {};
};

__attribute__((noinline)) float sum_of(const std::vector<Line>& data) {
  Lanes sums[accumulators] = {};
  for (size_t i = 0; i + accumulators <= data.size(); i += accumulators) {
    for (int a = 0; a < accumulators; ++a) sums[a] += data[i + static_cast<size_t>(a)].lanes;
  }
  for (int a = 1; a < accumulators; ++a) sums[0] += sums[a];
  return sums[0][0];
}

__attribute__((noinline)) float multiply_adds(int rounds, Lanes factor) {
  Lanes sums[accumulators] = {};
  for (int round = 0; round < rounds; ++round) {
    for (auto& sum : sums) sum = sum * factor + factor;
  }
  for (int a = 1; a < accumulators; ++a) sums[0] += sums[a];
  return sums[0][0];
}

/// Keeps a result alive without a store that would be timed.
void keep(float value) {
  asm volatile("" : : "x"(value));
}

template <class Work>
double best_seconds(int passes, Work work) {
  double best = 1e9;
  for (int pass = 0; pass < passes; ++pass) {
    const auto began = SteadyClock::now();
    work();
    const std::chrono::duration<double> took = SteadyClock::now() - began;
    best = std::min(best, took.count());
  }
  return best;
}

double read_gbytes_per_s(size_t bytes, int passes) {
  const std::vector<Line> data(bytes / sizeof(Line));
  const int repeats = static_cast<int>(std::max<size_t>(1, (16U << 20U) / bytes));
  const double seconds = best_seconds(passes, [&] {
    for (int i = 0; i < repeats; ++i) {
      keep(sum_of(data));
      asm volatile("" : : : "memory");  // forces every pass to read memory
    }
  });
  return static_cast<double>(bytes) * repeats / seconds / 1e9;
}

double best_gflops() {
  constexpr int rounds = 200'000;
  const double seconds = best_seconds(8, [] { keep(multiply_adds(rounds, Lanes{} + 0.5F)); });
  return 2.0 * accumulators * 16 * rounds / seconds / 1e9;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

Machine identity() {
  Machine machine;
  machine.name = cpu_name();
  machine.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  machine.cache_mbytes = static_cast<double>(last_level_cache_bytes()) / (1 << 20);
  return machine;
}

bool read_limits(const std::string& path, MachineLimits& limits) {
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;
  const auto number = [&](const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  limits = {number("cache_gbytes_per_s"), number("memory_gbytes_per_s"), number("gflops_per_s")};
  return limits.cache_gbytes_per_s > 0 && limits.memory_gbytes_per_s > 0 && limits.gflops_per_s > 0;
}

void write_limits(const std::string& path, const Machine& machine) {
  const nlohmann::json json{{"name", machine.name},
                            {"cache_gbytes_per_s", machine.limits.cache_gbytes_per_s},
                            {"memory_gbytes_per_s", machine.limits.memory_gbytes_per_s},
                            {"gflops_per_s", machine.limits.gflops_per_s}};
  OwnedFolder::sweep(std::filesystem::path(path).parent_path());
  (void)write_file_whole(path, json.dump(2) + '\n');  // best effort
}

/// Measures one core in about 0.3 s. Takes the best of several passes, since noise only slows down.
MachineLimits measured_limits(const Machine& machine) {
  const auto llc = static_cast<size_t>(machine.cache_mbytes * (1 << 20));
  // 256 KiB fit the second-level cache, the fastest one that can hold a task's data.
  return {.cache_gbytes_per_s = read_gbytes_per_s(256U << 10U, 12),
          .memory_gbytes_per_s = read_gbytes_per_s(4 * llc, 2),
          .gflops_per_s = best_gflops()};
}

}  // namespace

std::string Machine::key() const {
  return sha256_hex(fmt::format("{}/{}/{}", name, cores, cache_mbytes)).substr(0, 16);
}

Machine known_machine(const std::string& cache_folder) {
  const Machine here = identity();
  return known_machine(cache_folder, here, [&here] { return measured_limits(here); });
}

Machine known_machine(const std::string& cache_folder, Machine machine,
                      const std::function<MachineLimits()>& measure) {
  const std::string path = cache_folder + "/machine-" + machine.key() + ".json";
  if (read_limits(path, machine.limits)) return machine;
  machine.limits = measure();
  std::error_code ignored;
  std::filesystem::create_directories(cache_folder, ignored);
  write_limits(path, machine);
  return machine;
}

}  // namespace warpsmith::sandbox
