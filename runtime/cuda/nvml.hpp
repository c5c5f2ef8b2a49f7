// SPDX-License-Identifier: Apache-2.0
// NVML, the driver's library of board readings, loaded at run time. Only calls that read are looked
// up, so nothing here can change a clock.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/clock_sample.hpp"
#include "runtime/result.hpp"

namespace warpsmith::cuda {

/// The places to look for the library: the loader's path, next to the driver's libcuda, then the
/// folders where drivers are installed.
std::vector<std::string> nvml_names();

/// Opens the readings of the GPU with this PCI address (Gpu::bus_address), regardless of NVML's
/// numbering. `unsupported` without the library, `not_found` without that GPU.
Result<std::unique_ptr<ClockReader>> open_clocks(
    const std::string& bus_address, const std::vector<std::string>& libraries = nvml_names());

}  // namespace warpsmith::cuda
