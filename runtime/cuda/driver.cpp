// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/driver.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <sstream>

namespace warpsmith::cuda {
namespace {

// The parts of the driver's binary interface that are used here (CUDA driver API reference).
using Device = int;
enum Attribute : int {
  multiprocessor_count = 16,
  l2_cache_size = 38,
  capability_major = 75,
  capability_minor = 76,
  pageable_memory_access = 88,
};

std::string failed(const char* call, int code) {
  return fmt::format("{} failed with error {}", call, code);
}

/// The entry points that are needed to read a device.
struct DeviceCalls {
  int (*count)(int*) = nullptr;
  int (*get)(Device*, int) = nullptr;
  int (*name)(char*, int, Device) = nullptr;
  int (*memory)(size_t*, Device) = nullptr;
  int (*attribute)(int*, int, Device) = nullptr;
  int (*bus_address)(char*, int, Device) = nullptr;

  explicit DeviceCalls(const DynamicLibrary& library)
      : count(library.function<int(int*)>("cuDeviceGetCount")),
        get(library.function<int(Device*, int)>("cuDeviceGet")),
        name(library.function<int(char*, int, Device)>("cuDeviceGetName")),
        memory(library.function<int(size_t*, Device)>("cuDeviceTotalMem_v2")),
        attribute(library.function<int(int*, int, Device)>("cuDeviceGetAttribute")),
        bus_address(library.function<int(char*, int, Device)>("cuDeviceGetPCIBusId")) {}
  bool complete() const {
    return count != nullptr && get != nullptr && name != nullptr && memory != nullptr &&
           attribute != nullptr && bus_address != nullptr;
  }
};

int read_attribute(const DeviceCalls& calls, Attribute which, Device device) {
  int value = 0;
  return calls.attribute(&value, which, device) == 0 ? value : 0;
}

bool is_host_memory_isolated(const DeviceCalls& calls, Device device) {
  int reaches = 1;
  return calls.attribute(&reaches, pageable_memory_access, device) == 0 && reaches == 0;
}

Result<Gpu> read_gpu(const DeviceCalls& calls, int index) {
  Device device = 0;
  if (const int code = calls.get(&device, index); code != 0) {
    return fail(ErrorCode::infrastructure, failed("cuDeviceGet", code));
  }
  std::array<char, 256> name{};
  size_t memory = 0;
  if (const int code = calls.name(name.data(), static_cast<int>(name.size()), device); code != 0) {
    return fail(ErrorCode::infrastructure, failed("cuDeviceGetName", code));
  }
  if (const int code = calls.memory(&memory, device); code != 0) {
    return fail(ErrorCode::infrastructure, failed("cuDeviceTotalMem", code));
  }
  std::array<char, 32> address{};
  (void)calls.bus_address(address.data(), static_cast<int>(address.size()) - 1, device);
  for (char& c : address) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return Gpu{.index = index,
             .name = name.data(),
             .capability_major = read_attribute(calls, capability_major, device),
             .capability_minor = read_attribute(calls, capability_minor, device),
             .memory_bytes = static_cast<int64_t>(memory),
             .multiprocessors = read_attribute(calls, multiprocessor_count, device),
             .l2_bytes = read_attribute(calls, l2_cache_size, device),
             .bus_address = address.data(),
             .host_memory_isolated = is_host_memory_isolated(calls, device)};
}

}  // namespace

Result<Driver> Driver::load() {
  const auto library = DynamicLibrary::open({"libcuda.so.1"});
  if (!library) return fail("no CUDA driver", library.error());
  auto* init = library->function<int(unsigned)>("cuInit");
  auto* get_version = library->function<int(int*)>("cuDriverGetVersion");
  if (init == nullptr || get_version == nullptr) {
    return fail(ErrorCode::unsupported, "libcuda.so.1 lacks cuInit or cuDriverGetVersion");
  }
  if (const int code = init(0); code != 0) {
    const std::string nodes = missing_device_nodes();
    return fail(ErrorCode::unsupported, failed("cuInit", code) + ": a driver, but no usable GPU" +
                                            (nodes.empty() ? "" : " (" + nodes + ")"));
  }
  int version = 0;
  if (const int code = get_version(&version); code != 0) {
    return fail(ErrorCode::unsupported, failed("cuDriverGetVersion", code));
  }
  TRY_VOID(check_cuda_version(version, built_cuda_version()));
  return Driver{*library, version};
}

Result<std::vector<Gpu>> Driver::gpus() const {
  const DeviceCalls calls{library_};
  if (!calls.complete()) {
    return fail(ErrorCode::unsupported, "libcuda.so.1 lacks one of the device calls");
  }
  int count = 0;
  if (const int code = calls.count(&count); code != 0) {
    return fail(ErrorCode::infrastructure, failed("cuDeviceGetCount", code));
  }
  std::vector<Gpu> gpus;
  for (int index = 0; index < count; ++index) {
    TRY(auto gpu, read_gpu(calls, index));
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

Result<void> check_cuda_version(int driver, int built) {
  if (driver / 1000 >= built / 1000) return {};
  return fail(ErrorCode::unsupported, "the driver supports CUDA " + version_text(driver) +
                                          ", but this build needs CUDA " + version_text(built) +
                                          ": install a newer driver, or NVIDIA's package "
                                          "cuda-compat where that supports the GPU");
}

std::string missing_device_nodes(const std::filesystem::path& dev) {
  std::string lacking;
  for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}) {
    std::error_code error;
    if (std::filesystem::exists(dev / node, error)) continue;
    lacking += (lacking.empty() ? "no " : ", ") + (dev / node).string();
  }
  return lacking;
}

std::string version_text(int cuda_version) {
  return fmt::format("{}.{}", cuda_version / 1000, cuda_version % 1000 / 10);
}

std::string module_version(const std::string& proc_text) {
  std::istringstream words{proc_text};
  for (std::string word; words >> word;) {
    const bool dotted = word.find('.') != std::string::npos;
    if (dotted && std::isdigit(static_cast<unsigned char>(word.front())) != 0) return word;
  }
  return {};
}

}  // namespace warpsmith::cuda
