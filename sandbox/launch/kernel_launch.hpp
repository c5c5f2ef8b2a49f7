// SPDX-License-Identifier: Apache-2.0
// One `launch` step of a plan on a GPU. Sources built with the toolkit only.
#pragma once

#include <vector>

#include "runtime/cuda/context.hpp"
#include "sandbox/launch/launcher_plan.hpp"

namespace warpsmith::sandbox {

/// Where each buffer of a plan lies for one set, by index.
using DeviceBases = std::vector<CUdeviceptr>;

/// An address of the device as the driver's and the libraries' calls take it.
inline void* pointer_to(CUdeviceptr address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): never followed here
  return reinterpret_cast<void*>(address);
}

class KernelLaunch {
 public:
  /// Finds the kernel and asks for what it needs. An error says what the device refuses. `launch`
  /// outlives the result.
  static Result<KernelLaunch> prepare(const cuda::Context& context,
                                      const cuda::KernelModule& module, const BoundLaunch& launch);

  /// Launches over a set's buffers; into a graph if the stream is being captured. Throws
  /// DeviceError.
  void enqueue(CUstream stream, const DeviceBases& bases,
               const std::vector<BoundBuffer>& buffers) const;

 private:
  KernelLaunch(const cuda::Context& context, CUfunction function, const BoundLaunch& launch)
      : context_(&context), function_(function), launch_(&launch) {}
  Result<void> match_arguments();
  Result<void> ask_for_memory();
  Result<void> check_cooperation() const;
  CUlaunchConfig config(CUstream stream, std::vector<CUlaunchAttribute>& attributes) const;
  int attribute(CUfunction_attribute which) const;

  const cuda::Context* context_;
  CUfunction function_;
  const BoundLaunch* launch_;
  std::vector<size_t> bytes_;  // of each parameter
};

}  // namespace warpsmith::sandbox
