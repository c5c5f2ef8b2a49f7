// SPDX-License-Identifier: Apache-2.0
#include "sandbox/device/gpu_access.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

TEST(GpuAccessTest, ReadsTheMinorNumberFromTheModulesText) {
  EXPECT_EQ(device_minor("Model: \t\t NVIDIA H200\nDevice Minor: \t 3\nGPU Excluded:\t No\n"), 3);
  EXPECT_EQ(device_minor("Model: NVIDIA H200\n"), -1);
  EXPECT_EQ(device_minor("Device Minor:"), -1);
  EXPECT_EQ(device_minor(""), -1);
}

TEST(GpuAccessTest, LibrariesNextToTheInterpreterComeFirst) {
  const test_support::TemporaryFolder folder;
  const auto put = [&](const std::string& path) {
    const std::filesystem::path file = folder.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "library";
  };
  const std::string packages = "env/lib/python3.11/site-packages/nvidia/";
  put(packages + "cu13/lib/libcublas.so.13");
  put(packages + "cu13/lib/libcublasLt.so.13");
  put("toolkit/lib64/libcublas.so.13");
  put("toolkit/lib64/libcudnn.so.9");
  const auto found = find_math_folders((folder.path() / "toolkit").string(),
                                       (folder.path() / "env/bin/python").string());
  put("toolkit/extras/CUPTI/lib64/libcupti.so.13");
  const auto profiler = find_profiler_folders((folder.path() / "toolkit").string(),
                                              (folder.path() / "env/bin/python").string());
  const auto real = std::filesystem::canonical(folder.path());
  EXPECT_EQ(profiler, (std::vector<std::string>{(real / "toolkit/extras/CUPTI/lib64").string()}));
  EXPECT_EQ(found, (std::vector<std::string>{(real / packages / "cu13/lib").string(),
                                             (real / "toolkit/lib64").string()}));
}

}  // namespace
}  // namespace warpsmith::sandbox
