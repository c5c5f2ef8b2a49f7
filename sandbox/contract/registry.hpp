// SPDX-License-Identifier: Apache-2.0
// All contracts.
#pragma once

#include "sandbox/contract/contract.hpp"

namespace warpsmith::sandbox {

using ContractList = std::vector<const ContractEntry*>;

/// In the order of WARPSMITH_CONTRACTS (CMakeLists.txt of the root), the first of which is what
/// `check` falls back to.
const ContractList& all_contracts();

/// Null if none has that name.
const ContractEntry* find_contract(std::string_view name,
                                   const ContractList& contracts = all_contracts());

/// Requires the name of a contract.
const ContractEntry& contract_named(std::string_view name);

/// In the order of `all_contracts`.
std::vector<std::string> contract_names();

/// The path of a contract's SKILL.md, which teaches agents to write for it, below the source
/// folder.
std::string skill_file(std::string_view contract);

}  // namespace warpsmith::sandbox
