// SPDX-License-Identifier: Apache-2.0
#include "sandbox/launch/kernel_launch.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "sandbox/plan/match_kernels.hpp"

namespace warpsmith::sandbox {
namespace {

/// Holds a parameter's value until the driver has copied it. Tensor maps need 64-byte alignment.
struct alignas(64) ParameterValue {
  std::array<std::byte, sizeof(CUtensorMap)> bytes{};

  template <class T>
  void put(const T& value) {
    static_assert(sizeof(T) <= sizeof(CUtensorMap));
    std::memcpy(bytes.data(), &value, sizeof value);
  }
};

tl::unexpected<Error> refused(const std::string& what) {
  return fail(ErrorCode::invalid_config, what);
}

CUtensorMapDataType map_type(Dtype dtype) {
  switch (dtype) {
#define WARPSMITH_CASE(ours, cudas) \
  case Dtype::ours:                 \
    return CU_TENSOR_MAP_DATA_TYPE_##cudas;
    // NOLINTNEXTLINE(bugprone-branch-clone): several types have the same bytes
    WARPSMITH_TENSOR_MAP_TYPES(WARPSMITH_CASE)
#undef WARPSMITH_CASE
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

CUtensorMapSwizzle map_swizzle(Swizzle swizzle) {
  switch (swizzle) {
#define WARPSMITH_CASE(ours, cudas) \
  case Swizzle::ours:               \
    return CU_TENSOR_MAP_SWIZZLE_##cudas;
    WARPSMITH_SWIZZLES(WARPSMITH_CASE)
#undef WARPSMITH_CASE
  }
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

CUtensorMap encoded(const cuda::Api& api, const BoundTensorMap& map, Dtype dtype,
                    CUdeviceptr base) {
  CUtensorMap made{};
  const std::vector<cuuint64_t> shape(map.shape.begin(), map.shape.end());
  const std::vector<cuuint64_t> strides(map.strides.begin(), map.strides.end());
  const std::vector<cuuint32_t> box(map.box.begin(), map.box.end());
  const std::vector<cuuint32_t> every(shape.size(), 1);
  cuda::check(api,
              api.cuTensorMapEncodeTiled(
                  &made, map_type(dtype), static_cast<cuuint32_t>(shape.size()), pointer_to(base),
                  shape.data(), strides.data(), box.data(), every.data(),
                  CU_TENSOR_MAP_INTERLEAVE_NONE, map_swizzle(map.swizzle),
                  CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
              "cuTensorMapEncodeTiled");
  return made;
}

/// On a little-endian machine a narrow integer is the first bytes of a wide one.
void put_scalar(ParameterValue& value, const BoundScalar& scalar) {
  if (scalar.type == ScalarType::f32) return value.put(static_cast<float>(scalar.real));
  if (scalar.type == ScalarType::f64) return value.put(scalar.real);
  value.put(scalar.whole);
}

CUlaunchAttribute cluster_attribute(const Extent3& cluster) {
  CUlaunchAttribute made{};
  made.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  made.value.clusterDim = {cluster.x, cluster.y, cluster.z};
  return made;
}

}  // namespace

Result<KernelLaunch> KernelLaunch::prepare(const cuda::Context& context,
                                           const cuda::KernelModule& module,
                                           const BoundLaunch& launch) {
  KernelLaunch made{context, module.function(launch.kernel.c_str()), launch};
  for (const auto step : {&KernelLaunch::match_arguments, &KernelLaunch::apply_limits}) {
    if (auto done = (made.*step)(); !done) {
      return fail("\"" + launch.kernel + "\"", std::move(done.error()));
    }
  }
  if (auto done = made.check_cooperation(); !done) {
    return fail("\"" + launch.kernel + "\"", std::move(done.error()));
  }
  return made;
}

int KernelLaunch::attribute(CUfunction_attribute which) const {
  int value = 0;
  cuda::check(context_->api(), context_->api().cuFuncGetAttribute(&value, which, function_),
              "cuFuncGetAttribute");
  return value;
}

/// Compares with the driver's parameter sizes, because it copies that many bytes from each
/// argument.
Result<void> KernelLaunch::match_arguments() {
  size_t offset = 0, bytes = 0;
  while (context_->api().cuFuncGetParamInfo(function_, bytes_.size(), &offset, &bytes) ==
         CUDA_SUCCESS) {
    bytes_.push_back(bytes);
  }
  if (bytes_.size() != launch_->args.size()) {
    return refused(fmt::format("takes {} arguments, got {}", bytes_.size(), launch_->args.size()));
  }
  for (size_t i = 0; i < bytes_.size(); ++i) {
    const uint32_t has = argument_bytes(launch_->args[i]);
    const bool fits = has == 0 ? bytes_[i] == 4 || bytes_[i] == 8 : bytes_[i] == has;
    if (!fits) {
      return refused(fmt::format("parameter {} has {} bytes", i + 1, bytes_[i]));
    }
    const auto* scalar = std::get_if<BoundScalar>(&launch_->args[i]);
    if (has == 0 && bytes_[i] == 4 && !fits_in_4_bytes(scalar->whole)) {
      return refused(fmt::format("argument {}, {}, does not fit the parameter's 4 bytes", i + 1,
                                 scalar->whole));
    }
  }
  return {};
}

Result<void> KernelLaunch::apply_limits() {
  const int threads = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (launch_->block.volume() > static_cast<uint64_t>(threads)) {
    return refused(fmt::format("a block of {} threads, its registers allow {}",
                               launch_->block.volume(), threads));
  }
  const auto fixed = static_cast<uint64_t>(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  const auto most = static_cast<uint64_t>(
      context_->attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  if (launch_->shared + fixed > most) {
    return refused(fmt::format("{} bytes of dynamic and {} of static shared memory, a block has {}",
                               launch_->shared, fixed, most));
  }
  const cuda::Api& api = context_->api();
  const auto set = [&](CUfunction_attribute which, int value) {
    cuda::check(api, api.cuFuncSetAttribute(function_, which, value), "cuFuncSetAttribute");
  };
  // Steps share their kernels' attributes: never lower what another step set.
  const int current = attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  if (static_cast<int>(launch_->shared) > current) {
    set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(launch_->shared));
  }
  if (launch_->cluster && launch_->cluster->volume() > portable_cluster) {
    set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  }
  return {};
}

/// Checks that the blocks of a cluster and of a cooperative grid fit the device at the same time.
Result<void> KernelLaunch::check_cooperation() const {
  const cuda::Api& api = context_->api();
  if (launch_->cluster) {
    std::vector<CUlaunchAttribute> attributes;
    const CUlaunchConfig launch = config(nullptr, attributes);
    int clusters = 0;
    const CUresult code = api.cuOccupancyMaxActiveClusters(&clusters, function_, &launch);
    if (code != CUDA_SUCCESS || clusters == 0) {
      return refused(
          fmt::format("no cluster of {} such blocks fits this device", launch_->cluster->volume()));
    }
  }
  if (!launch_->cooperative) return {};
  int blocks = 0;
  cuda::check(api,
              api.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                  &blocks, function_, static_cast<int>(launch_->block.volume()), launch_->shared),
              "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  const uint64_t most =
      static_cast<uint64_t>(blocks) *
      static_cast<uint64_t>(context_->attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  if (launch_->grid.volume() <= most) return {};
  return refused(
      fmt::format("a cooperative grid of {} blocks, of which this device holds {} at once",
                  launch_->grid.volume(), most));
}

CUlaunchConfig KernelLaunch::config(CUstream stream,
                                    std::vector<CUlaunchAttribute>& attributes) const {
  if (launch_->cluster) attributes.push_back(cluster_attribute(*launch_->cluster));
  if (launch_->cooperative) {
    CUlaunchAttribute cooperative{};
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
    attributes.push_back(cooperative);
  }
  CUlaunchConfig made{};
  made.gridDimX = launch_->grid.x;
  made.gridDimY = launch_->grid.y;
  made.gridDimZ = launch_->grid.z;
  made.blockDimX = launch_->block.x;
  made.blockDimY = launch_->block.y;
  made.blockDimZ = launch_->block.z;
  made.sharedMemBytes = launch_->shared;
  made.hStream = stream;
  made.attrs = attributes.data();
  made.numAttrs = static_cast<unsigned>(attributes.size());
  return made;
}

void KernelLaunch::enqueue(CUstream stream, const DeviceBases& bases,
                           const std::vector<BoundBuffer>& buffers) const {
  const cuda::Api& api = context_->api();
  std::vector<ParameterValue> values(launch_->args.size());
  std::vector<void*> addresses;
  for (size_t i = 0; i < values.size(); ++i) {
    const BoundArgument& argument = launch_->args[i];
    if (const auto* pointer = std::get_if<BoundPointer>(&argument)) {
      values[i].put(bases[pointer->buffer]);
    } else if (const auto* map = std::get_if<BoundTensorMap>(&argument)) {
      values[i].put(encoded(api, *map, buffers[map->buffer].dtype, bases[map->buffer]));
    } else {
      put_scalar(values[i], std::get<BoundScalar>(argument));
    }
    addresses.push_back(values[i].bytes.data());
  }
  std::vector<CUlaunchAttribute> attributes;
  const CUlaunchConfig launch = config(stream, attributes);
  cuda::check(api, api.cuLaunchKernelEx(&launch, function_, addresses.data(), nullptr),
              "cuLaunchKernelEx");
}

}  // namespace warpsmith::sandbox
