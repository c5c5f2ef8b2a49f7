// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch/set_graphs.hpp"

namespace warpsmith::sandbox {
namespace {

template <class Library>
Result<void> open(std::unique_ptr<Library>& library, const cuda::Context& context) {
  if (library) return {};
  TRY(auto opened, Library::open(context));
  library = std::move(opened);
  return {};
}

tl::unexpected<Error> refused(PlanPlace place, const std::string& what) {
  return fail(ErrorCode::invalid_config, at_place(place, what));
}

cuda::Graph end_capture(const cuda::Api& api, CUstream stream) {
  CUgraph graph = nullptr;
  cuda::check(api, api.cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  return cuda::Graph{graph, {&api}};
}

}  // namespace

Result<void> StepLibraries::open_for(const BoundPlan& plan, const cuda::Context& context) {
  if (has_step<BoundGemm>(plan)) {
    TRY_VOID(open(gemm, context));
  }
  return has_step<BoundConv>(plan) ? open(conv, context) : Result<void>{};
}

Result<void> SetGraphs::prepare() {
  for (const BoundStep& step : plan_.steps) {
    try {
      auto made = ready(step);
      if (!made) return refused(step.place, made.error().message);
      steps_.push_back({step.place, std::move(*made)});
    } catch (const cuda::DeviceError& error) {
      if (error.no_memory()) throw;
      return refused(step.place, error.what());
    }
  }
  return {};
}

Result<Enqueue> SetGraphs::ready(const BoundStep& step) {
  if (const auto* launch = std::get_if<BoundLaunch>(&step.what)) return ready_launch(*launch);
  if (const auto* gemm = std::get_if<BoundGemm>(&step.what)) {
    return libraries_.gemm->prepare(*gemm, plan_.buffers);
  }
  if (const auto* conv = std::get_if<BoundConv>(&step.what)) {
    return libraries_.conv->prepare(*conv, plan_.buffers);
  }
  return ready_memory(step);
}

Result<Enqueue> SetGraphs::ready_launch(const BoundLaunch& launch) {
  if (module_ == nullptr) return fail(ErrorCode::invalid_config, "there are no kernels");
  TRY(auto made, KernelLaunch::prepare(context_, *module_, launch));
  return Enqueue{[this, kernel = std::move(made)](CUstream stream, const DeviceBases& bases) {
    kernel.enqueue(stream, bases, plan_.buffers);
  }};
}

/// Prepares a memset or a copy.
Enqueue SetGraphs::ready_memory(const BoundStep& step) const {
  const cuda::Api& api = context_.api();
  if (const auto* memset = std::get_if<BoundMemset>(&step.what)) {
    const uint64_t bytes = plan_.buffers[memset->out].bytes;
    return [&api, memset, bytes](CUstream stream, const DeviceBases& bases) {
      if (bytes == 0) return;
      cuda::check(api, api.cuMemsetD8Async(bases[memset->out], memset->value, bytes, stream),
                  "cuMemsetD8Async");
    };
  }
  const auto& copy = std::get<BoundCopy>(step.what);
  const uint64_t bytes = plan_.buffers[copy.out].bytes;
  return [&api, &copy, bytes](CUstream stream, const DeviceBases& bases) {
    if (bytes == 0) return;
    cuda::check(api, api.cuMemcpyDtoDAsync(bases[copy.out], bases[copy.from], bytes, stream),
                "cuMemcpyDtoDAsync");
  };
}

Result<cuda::GraphExec> SetGraphs::record(CUstream stream, const DeviceBases& bases) {
  const cuda::Api& api = context_.api();
  cuda::check(api, api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
              "cuStreamBeginCapture");
  for (const Ready& step : steps_) {
    try {
      step.enqueue(stream, bases);
    } catch (const cuda::DeviceError& error) {
      CUgraph broken = nullptr;
      (void)api.cuStreamEndCapture(stream, &broken);
      if (broken != nullptr) (void)api.cuGraphDestroy(broken);
      if (error.no_memory()) throw;
      return refused(step.place, error.what());
    }
  }
  const cuda::Graph graph = end_capture(api, stream);
  CUgraphExec ready = nullptr;
  cuda::check(api, api.cuGraphInstantiate(&ready, graph.get(), 0), "cuGraphInstantiate");
  cuda::GraphExec made{ready, {&api}};
  cuda::check(api, api.cuGraphUpload(ready, stream), "cuGraphUpload");
  return made;
}

void SetGraphs::launch(CUstream stream, const DeviceBases& bases) const {
  for (const Ready& step : steps_) step.enqueue(stream, bases);
}

}  // namespace warpsmith::sandbox
