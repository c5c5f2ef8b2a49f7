// SPDX-License-Identifier: Apache-2.0
// Stands in for the GPU bench in builds without a CUDA toolkit.
#include "sandbox/judge/gpu/gpu_bench.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr const char* reason =
    "built without a CUDA toolkit: install nvcc and build again to judge on a GPU";

}  // namespace

Result<std::shared_ptr<GpuVerifier>> GpuVerifier::open(int) {
  return fail(ErrorCode::unsupported, reason);
}

void GpuBenchMemory::release_large() {}
uint64_t GpuBenchMemory::held() const {
  return 0;
}

Result<std::unique_ptr<GpuBench>> GpuBench::create(std::shared_ptr<GpuVerifier>,
                                                   const TaskSignature&, GpuBenchMemory&,
                                                   uint64_t) {
  return fail(ErrorCode::unsupported, reason);
}

}  // namespace warpsmith::sandbox
