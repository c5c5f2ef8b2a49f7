// SPDX-License-Identifier: Apache-2.0
// Golden data from files next to the tests; tests run in the source folder.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace warpsmith::test {

inline std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline nlohmann::json json_file(const std::string& path) {
  return nlohmann::json::parse(file_text(path));
}

}  // namespace warpsmith::test
