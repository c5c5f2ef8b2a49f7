// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch/module_globals.hpp"

namespace warpsmith::sandbox {

Result<ModuleGlobals> ModuleGlobals::keep(const cuda::Context& context,
                                          const cuda::KernelModule& module,
                                          const std::vector<std::string>& names) {
  Variables found;
  uint64_t bytes = 0;
  for (const std::string& name : names) {
    const auto variable = module.variable(name.c_str());
    if (!variable) {
      return fail(ErrorCode::invalid_config,
                  "the variable \"" + name + "\" cannot be reset: declare it without static");
    }
    found.push_back(*variable);
    bytes += variable->bytes;
  }
  ModuleGlobals made{context, std::move(found), bytes};
  CUdeviceptr to = made.image_.address();
  for (const auto& variable : made.variables_) {
    made.copy(to, variable.address, variable.bytes);
    to += variable.bytes;
  }
  context.synchronize();
  made.record();
  return made;
}

void ModuleGlobals::copy(CUdeviceptr to, CUdeviceptr from, uint64_t bytes) const {
  cuda::check(*api_, api_->cuMemcpyDtoDAsync(to, from, bytes, beside_.get()), "cuMemcpyDtoDAsync");
}

void ModuleGlobals::record() {
  copies_ = cuda::captured(*api_, beside_.get(), [this] {
    CUdeviceptr from = image_.address();
    for (const auto& variable : variables_) {
      copy(variable.address, from, variable.bytes);
      from += variable.bytes;
    }
  });
}

void ModuleGlobals::begin_restore() const {
  cuda::check(*api_, api_->cuGraphLaunch(copies_.get(), beside_.get()), "cuGraphLaunch");
  cuda::check(*api_, api_->cuEventRecord(done_.get(), beside_.get()), "cuEventRecord");
}

void ModuleGlobals::end_restore(CUstream stream) const {
  cuda::check(*api_, api_->cuStreamWaitEvent(stream, done_.get(), 0), "cuStreamWaitEvent");
}

}  // namespace warpsmith::sandbox
