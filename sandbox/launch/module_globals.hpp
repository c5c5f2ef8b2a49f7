// SPDX-License-Identifier: Apache-2.0
// Resets the device variables of a candidate's module before each call, so that no call passes
// anything to the next. Only for sources built with the toolkit.
#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/context.hpp"

namespace warpsmith::sandbox {

class ModuleGlobals {
 public:
  /// Saves an image of the variables; call it before anything of the module runs. An error names a
  /// variable that the driver cannot find. Throws DeviceError.
  static Result<ModuleGlobals> keep(const cuda::Context& context, const cuda::KernelModule& module,
                                    const std::vector<std::string>& names, CUstream stream);

  /// Restores the image, with one copy for each variable.
  void restore(CUstream stream) const;

 private:
  using Variables = std::vector<cuda::KernelModule::Variable>;
  ModuleGlobals(const cuda::Context& context, Variables variables, uint64_t bytes)
      : api_(&context.api()), variables_(std::move(variables)), image_(*api_, bytes) {}
  void copy(CUdeviceptr to, CUdeviceptr from, uint64_t bytes, CUstream stream) const;

  const cuda::Api* api_;
  Variables variables_;
  cuda::DeviceMemory image_;
};

}  // namespace warpsmith::sandbox
