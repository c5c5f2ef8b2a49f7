// SPDX-License-Identifier: Apache-2.0
// The golden numbers of tests/golden/learn, and tensors of them.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

namespace warpsmith::policy {

inline const nlohmann::json& golden() {
  static const nlohmann::json numbers =
      nlohmann::json::parse(std::ifstream("tests/golden/learn/golden.json"));
  return numbers;
}

inline std::vector<double> doubles(const nlohmann::json& array) {
  return array.get<std::vector<double>>();
}

/// (N) float64.
inline at::Tensor tensor_of(const nlohmann::json& array, at::Device device = at::kCPU) {
  return at::tensor(doubles(array), at::kDouble).to(device);
}

}  // namespace warpsmith::policy
