// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "runtime/cuda/dynamic_library.hpp"

namespace warpsmith::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "libnvidia-ml.so.1";

// The parts of NVML's binary interface that are used here (NVML API reference; 0 is success).
using NvmlDevice = void*;
enum ClockType : int { sm_clock = 1, memory_clock = 2 };
constexpr int board_sensor = 0;

struct Calls {
  int (*init)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*device)(const char*, NvmlDevice*) = nullptr;
  int (*clock)(NvmlDevice, int, unsigned*) = nullptr;
  int (*power)(NvmlDevice, unsigned*) = nullptr;
  int (*temperature)(NvmlDevice, int, unsigned*) = nullptr;
  int (*reasons)(NvmlDevice, unsigned long long*) = nullptr;

  explicit Calls(const DynamicLibrary& library)
      : init(library.function<int()>("nvmlInit_v2")),
        error_text(library.function<const char*(int)>("nvmlErrorString")),
        device(library.function<int(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByPciBusId_v2")),
        clock(library.function<int(NvmlDevice, int, unsigned*)>("nvmlDeviceGetClockInfo")),
        power(library.function<int(NvmlDevice, unsigned*)>("nvmlDeviceGetPowerUsage")),
        temperature(library.function<int(NvmlDevice, int, unsigned*)>("nvmlDeviceGetTemperature")),
        reasons(library.function<int(NvmlDevice, unsigned long long*)>(
            "nvmlDeviceGetCurrentClocksEventReasons")) {
    if (reasons != nullptr) return;
    // The name before driver 535.
    reasons = library.function<int(NvmlDevice, unsigned long long*)>(
        "nvmlDeviceGetCurrentClocksThrottleReasons");
  }
  bool complete() const {
    return init != nullptr && device != nullptr && clock != nullptr && power != nullptr &&
           temperature != nullptr && reasons != nullptr;
  }
  std::string failed(const char* call, int code) const {
    const char* text = error_text == nullptr ? nullptr : error_text(code);
    return std::string{call} + ": " +
           (text == nullptr ? fmt::format("error {}", code) : std::string{text});
  }
};

/// The value that a call writes; nullopt if it fails, since the board may lack only this reading.
std::optional<int> answer_of(const auto& call) {
  unsigned value = 0;
  if (call(&value) != 0) return std::nullopt;
  return static_cast<int>(value);
}

class NvmlReader final : public ClockReader {
 public:
  NvmlReader(const Calls& calls, NvmlDevice device) : calls_(calls), device_(device) {}

  ClockSample read() override {
    ClockSample sample;
    sample.sm_mhz = answer_of([&](unsigned* v) { return calls_.clock(device_, sm_clock, v); });
    sample.memory_mhz =
        answer_of([&](unsigned* v) { return calls_.clock(device_, memory_clock, v); });
    sample.celsius =
        answer_of([&](unsigned* v) { return calls_.temperature(device_, board_sensor, v); });
    const auto milliwatts = answer_of([&](unsigned* v) { return calls_.power(device_, v); });
    if (milliwatts) sample.power_w = *milliwatts / 1000.0;
    unsigned long long reasons = 0;
    if (calls_.reasons(device_, &reasons) == 0) sample.reasons = reasons;
    return sample;
  }

 private:
  Calls calls_;
  NvmlDevice device_;
};

}  // namespace

std::vector<std::string> nvml_names() {
  std::vector<std::string> names{file_name};
  const auto driver = DynamicLibrary::open({"libcuda.so.1"});
  Dl_info place{};
  if (driver && dladdr(driver->find("cuInit"), &place) != 0 && place.dli_fname != nullptr) {
    names.push_back((fs::path(place.dli_fname).parent_path() / file_name).string());
  }
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                             "/usr/lib64", "/usr/local/nvidia/lib64", "/usr/lib/wsl/lib"}) {
    names.push_back((fs::path(folder) / file_name).string());
  }
  return names;
}

Result<std::unique_ptr<ClockReader>> open_clocks(const std::string& bus_address,
                                                 const std::vector<std::string>& libraries) {
  const auto library = DynamicLibrary::open(libraries);
  if (!library) return fail("no NVML", library.error());
  const Calls calls{*library};
  if (!calls.complete()) {
    return fail(ErrorCode::unsupported, "NVML lacks one of the calls that read clocks");
  }
  if (bus_address.empty()) {
    return fail(ErrorCode::not_found, "NVML: the driver does not report the GPU's PCI address");
  }
  // The library counts initialisations. This one is never undone, because the library is never
  // closed.
  if (const int code = calls.init(); code != 0) {
    return fail(ErrorCode::unsupported, calls.failed("nvmlInit", code));
  }
  NvmlDevice device = nullptr;
  if (const int code = calls.device(bus_address.c_str(), &device); code != 0) {
    return fail(ErrorCode::not_found, "NVML, GPU " + bus_address + ": " +
                                          calls.failed("nvmlDeviceGetHandleByPciBusId", code));
  }
  return std::make_unique<NvmlReader>(calls, device);
}

}  // namespace warpsmith::cuda
