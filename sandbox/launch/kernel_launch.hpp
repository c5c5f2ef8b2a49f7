// SPDX-License-Identifier: Apache-2.0
// One `launch` step of a plan on a GPU. Only for sources built with the toolkit.
#pragma once

#include <vector>

#include "runtime/cuda/context.hpp"
#include "sandbox/launch/launcher_plan.hpp"

namespace warpsmith::sandbox {

/// The address of each buffer of a plan for one set, by index.
using DeviceBases = std::vector<CUdeviceptr>;

/// A device address in the type that the driver's and the libraries' calls take.
inline void* pointer_to(CUdeviceptr address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): never dereferenced here
  return reinterpret_cast<void*>(address);
}

class KernelLaunch {
 public:
  /// Finds the kernel and sets its attributes. An error is the device's reason for refusing it.
  /// `launch` outlives the result.
  static Result<KernelLaunch> prepare(const cuda::Context& context,
                                      const cuda::KernelModule& module, const BoundLaunch& launch);

  /// Launches over one set's buffers, or adds the launch to the graph that `stream` is capturing.
  /// Throws DeviceError.
  void enqueue(CUstream stream, const DeviceBases& bases,
               const std::vector<BoundBuffer>& buffers) const;

 private:
  KernelLaunch(const cuda::Context& context, CUfunction function, const BoundLaunch& launch)
      : context_(&context), function_(function), launch_(&launch) {}
  Result<void> match_arguments();
  Result<void> apply_limits();
  Result<void> check_cooperation() const;
  CUlaunchConfig config(CUstream stream, std::vector<CUlaunchAttribute>& attributes) const;
  int attribute(CUfunction_attribute which) const;

  const cuda::Context* context_;
  CUfunction function_;
  const BoundLaunch* launch_;
  std::vector<size_t> bytes_;  // bytes_[i]: size of parameter i
};

}  // namespace warpsmith::sandbox
