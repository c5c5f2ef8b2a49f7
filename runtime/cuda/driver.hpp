// SPDX-License-Identifier: Apache-2.0
// The CUDA driver, through entry points looked up at run time. libcuda is never linked, since a
// machine without a driver has none. Needs no toolkit to build.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/cuda/dynamic_library.hpp"
#include "runtime/result.hpp"

namespace warpsmith::cuda {

struct Gpu {
  int index = 0;
  std::string name;
  int capability_major = 0, capability_minor = 0;
  int64_t memory_bytes = 0;
  int multiprocessors = 0;
  int64_t l2_bytes = 0;
  std::string bus_address;  // PCI, as the kernel module writes it: 0000:1b:00.0
  // True if device code cannot access host addresses. False if it can (through HMM or ATS in the
  // kernel) or if the driver does not say: then a kernel may access all memory of its process.
  bool host_memory_isolated = false;
};

/// The wording in reports for device code's access to host memory.
inline constexpr const char* host_memory_out_of_reach = "out of device code's reach";
inline constexpr const char* host_memory_within_reach = "within device code's reach (HMM or ATS)";

/// An initialised driver.
class Driver {
 public:
  /// `unsupported` if there is no driver, it does not initialise, or it is too old for this build;
  /// the message says which.
  static Result<Driver> load();

  /// The newest CUDA version that the driver supports, e.g. 13000.
  int cuda_version() const { return version_; }
  Result<std::vector<Gpu>> gpus() const;
  const DynamicLibrary& library() const { return library_; }

 private:
  Driver(DynamicLibrary library, int version) : library_(library), version_(version) {}
  DynamicLibrary library_;
  int version_;
};

/// The CUDA version of the toolkit that this was built with, e.g. 13000; 0: built without one.
int built_cuda_version();

/// Refuses a driver with an older major version than `built`: within a major version, a newer
/// runtime works on an older driver (CUDA Compatibility, "minor version compatibility").
Result<void> check_cuda_version(int driver, int built);

/// "no /dev/nvidiactl, …": the device nodes that every GPU needs and `dev` lacks; empty if none.
std::string missing_device_nodes(const std::filesystem::path& dev = "/dev");

/// "13.0" from 13000.
std::string version_text(int cuda_version);

/// The kernel module's version, e.g. "580.159.04", from the text of /proc/driver/nvidia/version;
/// empty if the text has none.
std::string module_version(const std::string& proc_text);

}  // namespace warpsmith::cuda
