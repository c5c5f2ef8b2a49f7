// SPDX-License-Identifier: Apache-2.0
// The examples of contract `device`'s SKILL.md, as files of a solution.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/submission.hpp"
#include "sandbox/plan/plan.hpp"
#include "sandbox/reference/description.hpp"

namespace warpsmith::sandbox::testing {

inline std::string device_skill() {
  std::ifstream in{"sandbox/contract/device/SKILL.md"};
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The texts between ```LANGUAGE and ```, in order.
inline std::vector<std::string> blocks_in(const std::string& text, const std::string& language) {
  const std::string head = "\n```" + language + "\n";
  std::vector<std::string> blocks;
  for (size_t at = text.find(head); at != std::string::npos; at = text.find(head, at)) {
    at += head.size();
    const size_t end = text.find("```", at);
    if (end == std::string::npos) throw std::runtime_error("a block without an end");
    blocks.push_back(text.substr(at, end - at));
  }
  return blocks;
}

/// Each plan of the text together with all of its kernels.
inline std::vector<FileSet> skill_solutions() {
  const std::string text = device_skill();
  std::string kernels;
  for (const std::string& block : blocks_in(text, "cuda")) kernels += block + '\n';
  std::vector<FileSet> solutions;
  for (const std::string& plan : blocks_in(text, "toml")) {
    solutions.push_back({{device_source_file, kernels}, {plan_file, plan}});
  }
  return solutions;
}

/// The tensors that the plans name, all f32; only those in `outputs` must be written.
inline TaskSignature skill_signature(const std::vector<std::string>& outputs) {
  const std::vector<TensorSpec> all{
      {.name = "x", .shape = {256, 1024}},
      {.name = "gain", .role = TensorRole::parameter, .shape = {1024}},
      {.name = "linear.weight", .role = TensorRole::parameter, .shape = {512, 1024}},
      {.name = "linear.bias", .role = TensorRole::parameter, .shape = {512}},
      {.name = "image", .shape = {4, 8, 32, 32}},
      {.name = "conv.weight", .role = TensorRole::parameter, .shape = {16, 8, 3, 3}}};
  const std::vector<TensorSpec> written{
      {.name = "y", .role = TensorRole::output, .shape = {256, 512}},
      {.name = "scaled", .role = TensorRole::output, .shape = {256, 1024}},
      {.name = "sums", .role = TensorRole::output, .shape = {256}},
      {.name = "features", .role = TensorRole::output, .shape = {4, 16, 32, 32}}};
  TaskSignature signature{.tensors = all};
  for (const TensorSpec& tensor : written) {
    for (const std::string& name : outputs) {
      if (tensor.name == name) signature.tensors.push_back(tensor);
    }
  }
  name_extents(signature);
  return signature;
}

/// The output that a plan writes.
inline std::string output_of(const std::string& plan) {
  for (const char* name : {"scaled", "sums", "features"}) {
    if (plan.find('"' + std::string(name) + '"') != std::string::npos) return name;
  }
  return "y";
}

}  // namespace warpsmith::sandbox::testing
