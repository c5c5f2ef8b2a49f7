// SPDX-License-Identifier: Apache-2.0
// The bench of a GPU slot: device memory that processes share by descriptor, and the judge's own
// kernels over it. Needs no headers of the toolkit; in builds without one nothing here can be
// opened.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/cuda/driver.hpp"
#include "sandbox/judge/bench.hpp"
#include "sandbox/judge/gpu/gpu_layout.hpp"
#include "sandbox/profile/occupancy.hpp"
#include "sandbox/timing/roofline.hpp"

namespace warpsmith::sandbox {

/// The verifier's own context, stream and kernels on one GPU. Use and destroy it on the thread that
/// opened it. No candidate's code runs in its process.
class GpuVerifier {
 public:
  /// `unsupported` without a usable driver or a toolkit at build time, `not_found` without that
  /// GPU, `infrastructure` if it computes wrong results.
  static Result<std::shared_ptr<GpuVerifier>> open(int gpu);
  virtual ~GpuVerifier() = default;

  /// Name, memory, size of the second-level cache.
  virtual const cuda::Gpu& facts() const = 0;
  /// Bytes that are free now. Throws DeviceError.
  virtual uint64_t free_memory() const = 0;
  /// The device's peak rates, measured in 20 ms each. Throws DeviceError.
  virtual MachineLimits measure_limits() const = 0;
  /// The resources of a multiprocessor. Throws DeviceError.
  virtual DeviceLimits device_limits() const = 0;
  /// Whether the device computes the same as a CPU. Throws DeviceError.
  virtual bool computes_right() const = 0;
};

/// The verifier's self test of a GPU: the contents of an all-zero key must have a sum that was
/// computed without any device, so that a faulty device cannot pass against itself. Float32 of
/// distribution `normal`: exercises integer and float arithmetic on every multiprocessor.
inline constexpr uint64_t self_test_elements = 1ULL << 20U;
/// Computed on a CPU by the same rules (self_test_test.cpp).
inline constexpr uint64_t self_test_sum = 0xCA771888EF3C03A0;

/// The sum over the elements, two to a word, dependent on their order.
inline uint64_t sum_of_self_test(std::span<const uint64_t> words) {
  uint64_t sum = 0;
  for (const uint64_t word : words) sum = sum * 0x9E3779B97F4A7C15ULL + word;
  return sum;
}

/// One region's memory with the descriptor that other processes map.
class GpuAllocation;

/// Device memory that is reused from one task's bench to the next.
struct GpuBenchMemory {
  std::array<std::shared_ptr<const GpuAllocation>, gpu_region_count> regions;

  /// Frees regions larger than `always_kept`.
  void release_large();
  /// Bytes of all regions.
  uint64_t held() const;
};

/// Receivers must map its descriptors whole (the sizes given with them are those of the whole
/// memories) and a candidate's inputs read-only.
class GpuBench : public Bench {
 public:
  /// Reuses `memory` if it is large enough but not far too large; no other bench may use it and no
  /// process may map it. Zeroes what contestants can see of it. Leaves `worker_bytes` to the
  /// reference worker. `capacity` if the task does not fit.
  static Result<std::unique_ptr<GpuBench>> create(std::shared_ptr<GpuVerifier> verifier,
                                                  const TaskSignature& signature,
                                                  GpuBenchMemory& memory,
                                                  uint64_t worker_bytes = 0);
};

}  // namespace warpsmith::sandbox
