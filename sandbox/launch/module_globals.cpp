// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch/module_globals.hpp"

#include <numeric>

namespace warpsmith::sandbox {
namespace {

using Variable = cuda::KernelModule::Variable;

uint64_t bytes_of(const std::vector<Variable>& all) {
  return std::accumulate(all.begin(), all.end(), uint64_t{0},
                         [](uint64_t sum, const Variable& one) { return sum + one.bytes; });
}

}  // namespace

Result<ModuleGlobals> ModuleGlobals::keep(const cuda::Context& context,
                                          const cuda::KernelModule& module,
                                          const std::vector<std::string>& names) {
  Variables found;
  for (const std::string& name : names) {
    const auto variable = module.variable(name.c_str());
    if (!variable) {
      return fail(ErrorCode::invalid_config,
                  "the variable \"" + name + "\" cannot be reset: declare it without static");
    }
    found.push_back(*variable);
  }
  ModuleGlobals made{context, std::move(found)};
  CUdeviceptr to = made.image_.address();
  for (const auto& variable : made.variables_) {
    made.copy(to, variable.address, variable.bytes);
    to += variable.bytes;
  }
  context.synchronize();
  made.record();
  return made;
}

ModuleGlobals::ModuleGlobals(const cuda::Context& context, Variables variables)
    : api_(&context.api()),
      variables_(std::move(variables)),
      image_(*api_, bytes_of(variables_)),
      beside_(cuda::make_stream(*api_)),
      done_(cuda::make_event(*api_)) {}

void ModuleGlobals::copy(CUdeviceptr to, CUdeviceptr from, uint64_t bytes) const {
  cuda::check(*api_, api_->cuMemcpyDtoDAsync(to, from, bytes, beside_.get()), "cuMemcpyDtoDAsync");
}

void ModuleGlobals::record() {
  cuda::check(*api_, api_->cuStreamBeginCapture(beside_.get(), CU_STREAM_CAPTURE_MODE_RELAXED),
              "cuStreamBeginCapture");
  CUdeviceptr from = image_.address();
  for (const auto& variable : variables_) {
    copy(variable.address, from, variable.bytes);
    from += variable.bytes;
  }
  CUgraph captured = nullptr;
  cuda::check(*api_, api_->cuStreamEndCapture(beside_.get(), &captured), "cuStreamEndCapture");
  const cuda::Graph graph{captured, {api_}};
  CUgraphExec ready = nullptr;
  cuda::check(*api_, api_->cuGraphInstantiate(&ready, captured, 0), "cuGraphInstantiate");
  copies_ = cuda::GraphExec{ready, {api_}};
}

void ModuleGlobals::begin_restore() const {
  cuda::check(*api_, api_->cuGraphLaunch(copies_.get(), beside_.get()), "cuGraphLaunch");
  cuda::check(*api_, api_->cuEventRecord(done_.get(), beside_.get()), "cuEventRecord");
}

void ModuleGlobals::end_restore(CUstream stream) const {
  cuda::check(*api_, api_->cuStreamWaitEvent(stream, done_.get(), 0), "cuStreamWaitEvent");
}

}  // namespace warpsmith::sandbox
