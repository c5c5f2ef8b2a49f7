// SPDX-License-Identifier: Apache-2.0
// The CUDA driver through its entry points at run time. libcuda is never linked: a machine without
// a driver has none. Needs no toolkit to build.
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
  // Device code cannot follow addresses of the host. False where it can, by the kernel's HMM or by
  // ATS, and where the driver does not say: a kernel then reaches all that its process holds.
  bool host_memory_apart = false;
};

/// Where the host's memory lies for device code, for reports.
inline constexpr const char* out_of_reach = "out of device code's reach";
inline constexpr const char* within_reach = "within device code's reach (HMM or ATS)";

/// An initialised driver.
class Driver {
 public:
  /// `unsupported` when there is no driver, or none that initialises; the message says which.
  static Result<Driver> load();

  /// The newest CUDA version it can run, e.g. 13000.
  int cuda_version() const { return version_; }
  Result<std::vector<Gpu>> gpus() const;
  const DynamicLibrary& library() const { return library_; }

 private:
  Driver(DynamicLibrary library, int version) : library_(library), version_(version) {}
  DynamicLibrary library_;
  int version_;
};

/// "no /dev/nvidiactl, …" of the nodes that every GPU needs, where `dev` lacks some; else empty.
std::string lacking_nodes(const std::filesystem::path& dev = "/dev");

/// "13.0" from 13000.
std::string version_text(int cuda_version);

/// The kernel module's version from the text of /proc/driver/nvidia/version, e.g. "580.159.04";
/// empty if there is none in it.
std::string module_version(const std::string& proc_text);

}  // namespace warpsmith::cuda
