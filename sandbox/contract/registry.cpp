// SPDX-License-Identifier: Apache-2.0
// CMake sets WARPSMITH_CONTRACTS to WARPSMITH_CONTRACT(NAME, SLOTS) for each contract.
#include "sandbox/contract/registry.hpp"

#include <algorithm>
#include <cassert>

namespace warpsmith::sandbox {

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

}  // namespace warpsmith::sandbox
