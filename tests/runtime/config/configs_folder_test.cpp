// SPDX-License-Identifier: Apache-2.0
// Every runnable experiment in configs/ parses and validates.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "runtime/config/run_config.hpp"

namespace warpsmith {
namespace {

std::vector<std::filesystem::path> experiments() {
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"configs", "configs/suites"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".toml") files.push_back(entry.path());
    }
  }
  return files;
}

TEST(ConfigsFolderTest, HasAnExperimentForEachContract) {
  std::set<std::string> contracts;
  for (const auto& file : experiments()) {
    const auto config = load_run_config(file, {});
    if (config) contracts.insert(config->sandbox.contract);
  }
  EXPECT_EQ(contracts, (std::set<std::string>{"cpu", "device", "host"}));
  EXPECT_TRUE(std::filesystem::exists("configs/quickstart.toml"));
}

TEST(ConfigsFolderTest, EveryExperimentParsesAndValidates) {
  for (const auto& file : experiments()) {
    const auto config = load_run_config(file, {});
    EXPECT_TRUE(config.has_value()) << config.error().message;
  }
}

}  // namespace
}  // namespace warpsmith
