// SPDX-License-Identifier: Apache-2.0
// The device variables of a candidate's module, brought back to what they were before each call, so
// that nothing learnt in one call is there in the next. Sources built with the toolkit only.
#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/context.hpp"

namespace warpsmith::sandbox {

class ModuleGlobals {
 public:
  /// Keeps an image of the variables as they are: nothing of the module has run yet. An error
  /// names a variable that the driver does not show. Throws DeviceError.
  static Result<ModuleGlobals> keep(const cuda::Context& context, const cuda::KernelModule& module,
                                    const std::vector<std::string>& names, CUstream stream);

  /// Brings the image back, by a copy for each variable.
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
