// SPDX-License-Identifier: Apache-2.0
// CMake sets WARPSMITH_CONTRACTS to WARPSMITH_CONTRACT(NAME, SLOTS) for each contract.
#include "sandbox/contract/contract.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <set>

#include "sandbox/reference/description.hpp"

namespace warpsmith::sandbox {

void Candidate::keep(Contestant contestant, Deadline /*deadline*/) {
  (void)contestant.process().kill();
}

OrFailure<CallKernels> Candidate::record(const CandidatePlace& /*place*/, Deadline /*deadline*/) {
  return CallKernels{.reason = "kernels of this contract are not recorded"};
}

/// Each is defined in the contract's folder.
#define WARPSMITH_CONTRACT(name, slots) const ContractEntry& name##_contract();
WARPSMITH_CONTRACTS
#undef WARPSMITH_CONTRACT

const ContractList& all_contracts() {
#define WARPSMITH_CONTRACT(name, slots) &name##_contract(),
  static const ContractList all{WARPSMITH_CONTRACTS};
#undef WARPSMITH_CONTRACT
  return all;
}

const ContractEntry* find_contract(std::string_view name, const ContractList& contracts) {
  const auto found = std::ranges::find(contracts, name, &ContractEntry::name);
  return found == contracts.end() ? nullptr : *found;
}

const ContractEntry& contract_named(std::string_view name) {
  const ContractEntry* found = find_contract(name);
  assert(found != nullptr && "no contract has this name");
  return *found;
}

std::vector<std::string> contract_names() {
  std::vector<std::string> names;
  for (const ContractEntry* entry : all_contracts()) names.emplace_back(entry->name);
  return names;
}

std::string skill_file(std::string_view contract) {
  return "sandbox/contract/" + std::string(contract) + "/SKILL.md";
}

Extents distinct_extents(const TaskSignature& signature) {
  Extents extents;
  for (size_t i = 0; i < signature.dims.size(); ++i) {
    extents.emplace_back(signature.dim_names[i], signature.dims[i]);
  }
  return extents;
}

Extents all_extents(const TaskSignature& signature) {
  Extents extents;
  for (const TensorSpec& tensor : signature.tensors) {
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      extents.emplace_back(tensor.symbols[i], tensor.shape[i]);
    }
  }
  return extents;
}

std::vector<int64_t> values_of(const Extents& extents) {
  std::vector<int64_t> values;
  values.reserve(extents.size());
  for (const auto& [name, value] : extents) values.push_back(value);
  return values;
}

std::string element_type(Dtype dtype, std::string_view half, std::string_view bfloat16) {
  switch (dtype) {
    case Dtype::f32:
      return "float";
    case Dtype::f64:
      return "double";
    case Dtype::f16:
      return std::string(half);
    case Dtype::bf16:
      return std::string(bfloat16);
    case Dtype::boolean:
      return "bool";
    case Dtype::u8:
      return "uint8_t";
    default:
      return "int" + std::string(dtype_name(dtype)).substr(1) + "_t";
  }
}

std::string variable_name(std::string_view tensor) {
  static const std::set<std::string, std::less<>> taken{"in", "out", "dims", "self"};
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::string name{tensor};
  std::ranges::replace_if(name, [&](char c) { return !allowed(c); }, '_');
  const bool digit = name.empty() || (name.front() >= '0' && name.front() <= '9');
  return digit || taken.contains(name) ? "t_" + name : name;
}

std::string tensor_summary(const TensorSpec& tensor) {
  return fmt::format("{} {} [{}]", to_string(tensor.role), dtype_name(tensor.dtype),
                     fmt::join(tensor.shape, ", "));
}

std::string buffer_lines(const TaskSignature& signature, const Extents& dims) {
  std::string text;
  size_t in = 0;
  size_t out = 0;
  for (const TensorSpec& tensor : signature.tensors) {
    const bool is_output = tensor.role == TensorRole::output;
    text += is_output ? fmt::format("out[{}", out++) : fmt::format("in[{}", in++);
    text.append("] ").append(tensor.name).append(" ").append(dtype_name(tensor.dtype)) += " [";
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(tensor.shape[i]);
    }
    text += "]\n";
  }
  text += "dims";
  for (const auto& [name, extent] : dims) text += fmt::format(" {}", extent);
  return text;
}

}  // namespace warpsmith::sandbox
