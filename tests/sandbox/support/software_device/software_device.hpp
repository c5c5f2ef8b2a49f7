// SPDX-License-Identifier: Apache-2.0
// The software device: a plan's steps on this processor, over host memory. It tests everything
// around a GPU on machines without one. Its times say nothing about a GPU, and its kernels are
// plain C++ compiled from CUDA's common subset (software_kernels.hpp).
#pragma once

#include <memory>
#include <string>

#include "sandbox/launch/launcher.hpp"

namespace warpsmith::sandbox::testing {

Result<std::unique_ptr<PlanDevice>> make_software_device(Recording recording);

/// warpsmith-test-launcher, whose launchers have this device. CMake sets the path.
inline std::string software_launcher_program() {
  return WARPSMITH_TEST_LAUNCHER;
}

}  // namespace warpsmith::sandbox::testing
