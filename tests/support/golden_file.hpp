// SPDX-License-Identifier: Apache-2.0
// Compares a text with a golden file. Tests run in the source folder.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace warpsmith::test_support {

inline std::string file_content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Fails if the file is missing or differs. WARPSMITH_WRITE_GOLDEN=1 writes it instead.
inline void expect_golden(const std::filesystem::path& file, const std::string& text) {
  if (std::getenv("WARPSMITH_WRITE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream{file, std::ios::binary} << text;
  }
  ASSERT_TRUE(std::filesystem::exists(file))
      << file << " is missing; WARPSMITH_WRITE_GOLDEN=1 writes it";
  EXPECT_EQ(text, file_content(file))
      << file << " differs: an earlier build wrote, or reads, what it holds. If the change is "
      << "intended, WARPSMITH_WRITE_GOLDEN=1 writes it again";
}

}  // namespace warpsmith::test_support
