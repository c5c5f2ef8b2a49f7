// SPDX-License-Identifier: Apache-2.0
// op.cpp of an exported package of contract `device`, but for its steps.
#include "commands/optimize/export_templates.hpp"

namespace warpsmith::commands {

const char* const export_device_includes = R"op(// SPDX-License-Identifier: Apache-2.0
// The op around the kernels: checks types and sizes, makes outputs, carries out the plan.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda.h>
#include <dlfcn.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "kernels.h"

asm(".pushsection .rodata\n.balign 64\n.globl warpsmith_cubin\n.hidden warpsmith_cubin\n"
    "warpsmith_cubin:\n.incbin \"" KERNELS_CUBIN "\"\n.popsection\n");
extern "C" __attribute__((visibility("hidden"))) const char warpsmith_cubin[];

#define TEXT_OF(name) #name
#define DRIVER(function)                                                        \
  [] {                                                                          \
    static const auto found = driver<decltype(&function)>(TEXT_OF(function));   \
    return found;                                                               \
  }()
#define CALL_DRIVER(function, ...) succeed(DRIVER(function)(__VA_ARGS__), TEXT_OF(function))

)op";

const char* const export_device_call = R"op(
template <class Function>
Function driver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const found = library == nullptr ? nullptr : dlsym(library, name);
  TORCH_CHECK(found != nullptr, "@PACKAGE@: the CUDA driver has no ", name);
  return reinterpret_cast<Function>(found);
}

void succeed(CUresult code, const char* what) {
  TORCH_CHECK(code == CUDA_SUCCESS, "@PACKAGE@: ", what, " failed with code ",
              static_cast<int>(code));
}

/// The driver's calls need torch's context, which a new thread lacks.
void enter_context(int device) {
  CUcontext context = nullptr;
  CALL_DRIVER(cuCtxGetCurrent, &context);
  if (context != nullptr) return;
  CALL_DRIVER(cuDevicePrimaryCtxRetain, &context, device);
  CALL_DRIVER(cuCtxSetCurrent, context);
}

/// The compiled kernels on one device.
class Kernels {
 public:
  Kernels() {
    CALL_DRIVER(cuModuleLoadData, &module_, warpsmith_cubin);
    for (const char* name : std::vector<const char*>{KERNELS_VARIABLES}) {
      Variable one;
      CALL_DRIVER(cuModuleGetGlobal, &one.address, &one.bytes, module_, name);
      CALL_DRIVER(cuMemAlloc, &one.initial, one.bytes);
      CALL_DRIVER(cuMemcpyDtoD, one.initial, one.address, one.bytes);
      variables_.push_back(one);
    }
    CALL_DRIVER(cuStreamSynchronize, nullptr);  // the copies are there for every stream
  }

  /// The kernel, allowed that many bytes of dynamic shared memory and clusters of that many blocks.
  CUfunction find(const char* name, int shared, unsigned cluster) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Known& known = known_[name];
    if (known.function == nullptr) CALL_DRIVER(cuModuleGetFunction, &known.function, module_, name);
    if (shared > known.shared) {
      CALL_DRIVER(cuFuncSetAttribute, known.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
           shared);
      known.shared = shared;
    }
    if (cluster > 8) {
      CALL_DRIVER(cuFuncSetAttribute, known.function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
           1);
    }
    return known.function;
  }

  /// No call passes anything to the next, as at the judge.
  void reset(CUstream stream) const {
    for (const Variable& one : variables_) {
      CALL_DRIVER(cuMemcpyDtoDAsync, one.address, one.initial, one.bytes, stream);
    }
  }

 private:
  struct Variable {
    CUdeviceptr address = 0, initial = 0;
    size_t bytes = 0;
  };
  struct Known {
    CUfunction function = nullptr;
    int shared = 0;
  };

  CUmodule module_ = nullptr;
  std::vector<Variable> variables_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

/// Loaded once for each device, and kept until the process ends.
Kernels& kernels_on(int device) {
  static std::mutex mutex;
  static std::map<int, Kernels*> loaded;
  const std::lock_guard<std::mutex> lock(mutex);
  Kernels*& kernels = loaded[device];
  if (kernels == nullptr) kernels = new Kernels();
  return *kernels;
}

/// The value of a kernel's parameter. A narrow integer is the first bytes of a wide one.
struct alignas(64) Parameter {
  std::array<unsigned char, 128> bytes{};
};

template <class T>
Parameter parameter(T value) {
  Parameter made;
  static_assert(sizeof value <= sizeof made.bytes);
  std::memcpy(made.bytes.data(), &value, sizeof value);
  return made;
}

struct Extent {
  unsigned x, y, z;
};

struct Launch {
  const char* kernel;
  Extent grid, block, cluster;  // cluster.x is 0: none
  unsigned shared;              // bytes of dynamic shared memory
  bool cooperative;
};

/// One call of the op: the addresses of its buffers, and the stream.
class Call {
 public:
  Call(const Tensor& like, const void* const* in, void* const* out)
      : like_(like), stream_(c10::cuda::getCurrentCUDAStream(like.device().index()).stream()) {
    for (size_t i = 0; i < in_count; ++i) add(in[i]);
    for (size_t i = 0; i < out_count; ++i) add(out[i]);
  }

  CUdeviceptr at(size_t buffer) const { return buffers_[buffer]; }
  void* pointer(size_t buffer) const { return reinterpret_cast<void*>(buffers_[buffer]); }
  CUstream stream() const { return stream_; }
  const Tensor& like() const { return like_; }

  /// Adds buffers of these sizes; each size is a multiple of 256.
  void scratch(const std::vector<int64_t>& bytes) {
    int64_t all = 0;
    for (const int64_t size : bytes) all += size;
    scratch_ = at::empty({all}, like_.options().dtype(at::kByte));
    auto address = reinterpret_cast<CUdeviceptr>(scratch_.mutable_data_ptr());
    for (const int64_t size : bytes) {
      buffers_.push_back(address);
      address += static_cast<CUdeviceptr>(size);
    }
  }

  void reset() const { kernels_on(like_.device().index()).reset(stream_); }

  void launch(const Launch& what, std::vector<Parameter> parameters) const {
    std::vector<void*> addresses;
    for (Parameter& one : parameters) addresses.push_back(one.bytes.data());
    std::array<CUlaunchAttribute, 2> attributes{};
    CUlaunchConfig config{};
    config.gridDimX = what.grid.x;
    config.gridDimY = what.grid.y;
    config.gridDimZ = what.grid.z;
    config.blockDimX = what.block.x;
    config.blockDimY = what.block.y;
    config.blockDimZ = what.block.z;
    config.sharedMemBytes = what.shared;
    config.hStream = stream_;
    config.attrs = attributes.data();
    if (what.cluster.x > 0) {
      CUlaunchAttribute& one = attributes[config.numAttrs++];
      one.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      one.value.clusterDim.x = what.cluster.x;
      one.value.clusterDim.y = what.cluster.y;
      one.value.clusterDim.z = what.cluster.z;
    }
    if (what.cooperative) {
      CUlaunchAttribute& one = attributes[config.numAttrs++];
      one.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
      one.value.cooperative = 1;
    }
    const unsigned cluster = what.cluster.x * what.cluster.y * what.cluster.z;
    const CUfunction function = kernels_on(like_.device().index())
                                    .find(what.kernel, static_cast<int>(what.shared), cluster);
    CALL_DRIVER(cuLaunchKernelEx, &config, function, addresses.data(), nullptr);
  }

  /// A descriptor of a buffer for TMA: elements, bytes, elements, innermost first.
  Parameter tensor_map(size_t buffer, CUtensorMapDataType type, std::vector<cuuint64_t> shape,
                       std::vector<cuuint64_t> strides, std::vector<cuuint32_t> box,
                       CUtensorMapSwizzle swizzle) const {
    CUtensorMap made{};
    const std::vector<cuuint32_t> every(shape.size(), 1);
    CALL_DRIVER(cuTensorMapEncodeTiled, &made, type, static_cast<cuuint32_t>(shape.size()),
         pointer(buffer), shape.data(), strides.data(), box.data(), every.data(),
         CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return parameter(made);
  }

  void fill(size_t buffer, unsigned char value, size_t bytes) const {
    if (bytes > 0) CALL_DRIVER(cuMemsetD8Async, at(buffer), value, bytes, stream_);
  }

  void copy(size_t to, size_t from, size_t bytes) const {
    if (bytes > 0) CALL_DRIVER(cuMemcpyDtoDAsync, at(to), at(from), bytes, stream_);
  }

 private:
  void add(const void* pointer) { buffers_.push_back(reinterpret_cast<CUdeviceptr>(pointer)); }

  const Tensor& like_;
  CUstream stream_;
  std::vector<CUdeviceptr> buffers_;
  Tensor scratch_;
};
)op";

}  // namespace warpsmith::commands
