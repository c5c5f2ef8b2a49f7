// SPDX-License-Identifier: Apache-2.0
// The bench of a GPU slot: device memory that processes share by descriptor, and kernels of our own
// over it. Needs no toolkit's header; without a toolkit at build time nothing here can be opened.
#pragma once

#include <array>
#include <memory>

#include "runtime/cuda/driver.hpp"
#include "sandbox/judge/bench.hpp"
#include "sandbox/judge/gpu/gpu_layout.hpp"
#include "sandbox/profile/occupancy.hpp"
#include "sandbox/timing/roofline.hpp"

namespace warpsmith::sandbox {

/// The verifier's own context, stream and kernels on one GPU. Used and destroyed on the thread that
/// opened it. No candidate's code runs in its process.
class GpuVerifier {
 public:
  /// `unsupported` without a usable driver or a toolkit at build time, `not_found` without that
  /// GPU, `infrastructure` where it computes wrongly.
  static Result<std::shared_ptr<GpuVerifier>> open(int gpu);
  virtual ~GpuVerifier() = default;

  /// Name, memory, bytes of second-level cache.
  virtual const cuda::Gpu& facts() const = 0;
  /// Bytes that nobody holds now. Throws DeviceError.
  virtual uint64_t free_memory() const = 0;
  /// What the device can do at best, by measurements of 20 ms. Throws DeviceError.
  virtual MachineLimits measure_limits() const = 0;
  /// What its multiprocessors hold. Throws DeviceError.
  virtual DeviceLimits device_limits() const = 0;
  /// Whether the device computes what a CPU does. Throws DeviceError.
  virtual bool computes_right() const = 0;
};

/// One region's memory and the descriptor that others map it by.
class GpuAllocation;

/// Device memory that one task's bench leaves to the next one's.
struct GpuBenchMemory {
  std::array<std::shared_ptr<const GpuAllocation>, gpu_region_count> regions;

  /// Lets go of regions beyond `always_kept`.
  void release_large();
};

/// Descriptors that it hands out are to be mapped whole (the bytes beside them are the whole
/// memories'), a candidate's inputs read-only.
class GpuBench : public Bench {
 public:
  /// `memory` is used again where it is large enough and not far more; no other bench is in it and
  /// no process maps it. What contestants can see of it is zeroed. `capacity` where the task does
  /// not fit.
  static Result<std::unique_ptr<GpuBench>> create(std::shared_ptr<GpuVerifier> verifier,
                                                  const TaskSignature& signature,
                                                  GpuBenchMemory& memory);
};

}  // namespace warpsmith::sandbox
